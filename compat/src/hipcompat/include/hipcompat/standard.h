// cuda::std as std: what is constexpr in the C++ library runs in device code, too; the rest does not compile there.
#pragma once

namespace std {}

namespace cuda {
namespace std = ::std;
}

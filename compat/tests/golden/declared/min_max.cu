// min and max have the types of CUDA's overloads, in host and in device code: HIP's give a double for (int, unsigned).
template <typename A, typename B> struct is { static constexpr bool v = false; };
template <typename A> struct is<A, A> { static constexpr bool v = true; };
#define CHECK(T, ...) static_assert(is<T, decltype(__VA_ARGS__)>::v, #__VA_ARGS__ " is no " #T)
#define ALL \
  CHECK(int, min(1, 2)); CHECK(unsigned, min(1u, 2u)); CHECK(unsigned, min(1, 2u)); CHECK(unsigned, min(1u, 2)); \
  CHECK(long, min(1l, 2l)); CHECK(unsigned long, min(1ul, 2ul)); CHECK(unsigned long, min(1l, 2ul)); CHECK(unsigned long, min(1ul, 2l)); \
  CHECK(long long, min(1ll, 2ll)); CHECK(unsigned long long, min(1ull, 2ull)); CHECK(unsigned long long, min(1ll, 2ull)); CHECK(unsigned long long, min(1ull, 2ll)); \
  CHECK(float, min(1.f, 2.f)); CHECK(double, min(1., 2.)); CHECK(double, min(1.f, 2.)); CHECK(double, min(1., 2.f)); \
  CHECK(int, max(1, 2)); CHECK(unsigned, max(1u, 2u)); CHECK(unsigned, max(1, 2u)); CHECK(unsigned, max(1u, 2)); \
  CHECK(long, max(1l, 2l)); CHECK(unsigned long, max(1ul, 2ul)); CHECK(unsigned long, max(1l, 2ul)); CHECK(unsigned long, max(1ul, 2l)); \
  CHECK(long long, max(1ll, 2ll)); CHECK(unsigned long long, max(1ull, 2ull)); CHECK(unsigned long long, max(1ll, 2ull)); CHECK(unsigned long long, max(1ull, 2ll)); \
  CHECK(float, max(1.f, 2.f)); CHECK(double, max(1., 2.)); CHECK(double, max(1.f, 2.)); CHECK(double, max(1., 2.f));
__global__ void k() { ALL }
void h() { ALL }

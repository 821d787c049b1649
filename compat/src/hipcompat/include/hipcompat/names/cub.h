// Made from facts.tsv by `python -m hipcompat.translate.headers`; do not edit.
#pragma once

namespace hipcub {}
namespace cub = hipcub;

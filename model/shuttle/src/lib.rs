//! Nothing: the scenarios are in `tests/`.

//! The models are in tests/; run them with `make loom`.

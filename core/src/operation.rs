//! The life of an operation at the edge.

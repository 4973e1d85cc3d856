//! libbaton_preload.so: pthread interposition, capture, lock replacement.

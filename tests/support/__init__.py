"""What tests share: the naive oracle, the byte-by-byte file builder, the corpus."""

"""The predicate audit: a generated matrix of predicates and files against an oracle (`python -m tests.audit`)."""

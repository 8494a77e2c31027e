"""The hash functions of section 7.1.2, each a `mate.hashing.SuperKeyHash` that `mate.hashing.get` finds by name.

Three set a few bits a value and suit OR-aggregation: ``bf`` (Bloom filter), ``lhbf`` (less hashing Bloom filter)
and ``ht`` (hash table). Four are general hash functions, half of whose bits are set: ``md5``, ``murmur``, ``city``
and ``simhash``.
"""

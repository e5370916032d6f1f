"""The stages of an experiment, one file each: what an artifact depends on, and how it is computed.

    queries --> obfuscate --+--> retrieve --> utility, ceiling --+
                            |        |                           |
                            |        +--> need ------------------+--> result
                            |        |                           |
                            +--> attack --> risk, guesses, growth +
                            |                                    |
                            +--> sessions -----------------------+
                            |                                    |
                            +--> text_similarity ----------------+

A stage caches a public function of the package (`qk.obfuscate`, `retrieve` and `pool`, `rerank` and `utility`,
`attack`, `AttackReport.growth`, `session_attack`, `risk`, `similarity`, `need_leakage`) and computes nothing itself.
"""

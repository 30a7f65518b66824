/** Names that programs trip over, each well-formed: pub-F3. */
export const NAUGHTY_NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'hasOwnProperty',
  'toString',
  'valueOf',
  '__proto__.polluted',
  'a\u0000b',
  'ß'.repeat(127),
  '"\\\u2028',
  '😀'
]

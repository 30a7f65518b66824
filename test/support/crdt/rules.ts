/**
 * The rules of the map, each of which the reference can be built without. The number names the counter-example of
 * docs/algorithm.md; a rule without one concerns marks, or stands only in the pseudo-code. Without 'from is checked'
 * nothing is refused at all.
 */
export const RULES = {
  'slices carry since and asOf': 'C2 C3',
  'a later slice names every mark since the last cut': 'C4',
  'since is checked': 'C5',
  'later slices carry marks': 'C6',
  'marks of dots inside the interval travel': 'C7 C8 C9',
  'a relay logs every mark': 'C10',
  'only complete records serve': 'C11',
  'from is checked': 'C13',
  'a full state resets the log': 'C15',
  'the floor is the evicted event': 'C16',
  'a full state sweeps': 'C17',
  'only dots above known are inserted': 'C18',
  'complete needs the horizon': 'C19',
  'a step from the head only if whole': 'C20',
  'a slice must be newer than the cursor': 'C21',
  'marks carry their event': 'C22',
  'a repair never goes back': 'C23',
  'a repair overwrites content': '',
  'a repair sweeps with plain intervals too': '',
  'a repair sweeps what is above': '',
  'old intervals are known by asOf, not by to': '',
  'the floor is heeded from the head': '',
  'the floor is heeded from the cursor': '',
  'a cursor ahead of the server is refused': '',
  'a state never moves back': '',
  'a full state moves states on': '',
  'the log keeps every state': '',
  'a mark alone moves a state on': '',
  'the hash covers the state': '',
  'a plain cut hides no later mark': ''
} as const

export type Rule = keyof typeof RULES

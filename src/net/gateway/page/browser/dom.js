// @ts-check

/**
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id)
  if (found === null) {
    throw new Error(`the page has no #${id}`)
  }
  return found
}

/**
 * A new element. Texts are texts: nothing that comes from the server is ever read as HTML.
 *
 * @template {keyof HTMLElementTagNameMap} N
 * @param {N} name
 * @param {Readonly<Record<string, string>>} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[N]}
 */
export function create(name, attributes = {}, ...children) {
  const made = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) {
    made.setAttribute(attribute, value)
  }
  made.append(...children)
  return made
}

/**
 * Touches the page only when the text is another one.
 *
 * @param {Node} node
 * @param {string} text
 */
export function setText(node, text) {
  if (node.textContent !== text) {
    node.textContent = text
  }
}

/**
 * As `setText`.
 *
 * @param {Element} element
 * @param {string} name
 * @param {string} value
 */
export function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== value) {
    element.setAttribute(name, value)
  }
}

/**
 * A row on the page, and how it is made to show an item.
 *
 * @template T
 * @typedef {{ readonly node: HTMLElement, readonly update: (item: T) => void }} Row
 */

/**
 * Rows by key: those that stay are kept, with focus and selection, and only what differs is touched.
 *
 * @template T
 */
export class KeyedRows {
  /** @type {Map<string, Row<T>>} */
  #rows = new Map()
  /** @type {HTMLElement} */
  #parent
  /** @type {(item: T) => string} */
  #keyOf
  /** @type {(item: T) => Row<T>} */
  #make

  /**
   * @param {HTMLElement} parent
   * @param {(item: T) => string} keyOf
   * @param {(item: T) => Row<T>} make
   */
  constructor(parent, keyOf, make) {
    this.#parent = parent
    this.#keyOf = keyOf
    this.#make = make
  }

  /** @param {Iterable<T>} items in the order in which they are shown */
  show(items) {
    const before = this.#rows
    const focused = document.activeElement
    /** @type {Map<string, Row<T>>} */
    const rows = new Map()
    let next = this.#parent.firstElementChild
    for (const item of items) {
      const key = this.#keyOf(item)
      const row = before.get(key) ?? this.#make(item)
      before.delete(key)
      row.update(item)
      rows.set(key, row)
      if (row.node === next) {
        next = next.nextElementSibling
      } else {
        this.#parent.insertBefore(row.node, next)
      }
    }
    for (const { node } of before.values()) {
      node.remove()
    }
    this.#rows = rows
    // A row that is moved loses the focus.
    if (focused instanceof HTMLElement && focused !== document.activeElement && focused.isConnected) {
      focused.focus({ preventScroll: true })
    }
  }

  /**
   * The items in the order in which they are on the page now, those that are not on it yet last: nothing moves under a pointer.
   *
   * @param {readonly T[]} items
   * @returns {T[]}
   */
  inPlace(items) {
    const byKey = new Map(items.map(item => [this.#keyOf(item), item]))
    const known = [...this.#rows.keys()].filter(key => byKey.has(key))
    return [...new Set([...known, ...byKey.keys()])].map(key => /** @type {T} */ (byKey.get(key)))
  }
}

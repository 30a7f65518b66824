// @ts-check
import { ask, soon } from './ask.js'
import { byId, create, KeyedRows, setText } from './dom.js'
import { number, plural } from './format.js'
import { UserView } from './user-view.js'

/**
 * @import { UsersReply } from '../messages.ts'
 * @import { Channel } from './phoenix.mjs'
 * @import { TopicView } from './topic-view.js'
 */

/** Who is online, by how they are called; and one of them, looked at closely. */
export class UsersView {
  #search = /** @type {HTMLInputElement} */ (byId('user-search'))
  /** @type {Channel} */
  #cluster
  /** @type {UserView} */
  #user
  /** @type {KeyedRows<string>} */
  #rows
  #asking = false

  /**
   * @param {Channel} cluster
   * @param {TopicView} topic
   */
  constructor(cluster, topic) {
    this.#cluster = cluster
    this.#user = new UserView(cluster, topic)
    this.#rows = new KeyedRows(
      byId('user-rows'),
      user => user,
      user => this.#makeRow(user)
    )
    const list = soon(() => this.#list())
    this.#search.addEventListener('input', list)
    byId('user-form').addEventListener('submit', event => {
      event.preventDefault()
      if (this.#search.value !== '') {
        this.#user.open(this.#search.value, true)
      }
    })
  }

  /** Something has changed: what is shown is asked for anew, unless nobody sees it. */
  refresh() {
    if (!document.hidden) {
      this.#list()
      this.#user.refresh()
    }
  }

  async #list() {
    if (this.#asking) {
      return
    }
    const prefix = this.#search.value
    this.#asking = true
    try {
      /** @type {UsersReply} */
      const { users, more, total } = await ask(this.#cluster, 'users', { prefix })
      this.#rows.show(users)
      const of =
        prefix === '' ? `${plural(total, 'user')} online` : `${number(users.length)}${more ? ' and more' : ''} of ${number(total)} online`
      setText(byId('users-said'), more && prefix === '' ? `${of}; some of them` : of)
    } catch (error) {
      setText(byId('users-said'), `The search failed: ${/** @type {Error} */ (error).message}.`)
    } finally {
      this.#asking = false
    }
    if (this.#search.value !== prefix) {
      await this.#list()
    }
  }

  /** @param {string} user */
  #makeRow(user) {
    const button = create('button', { type: 'button', class: 'link', title: user }, user)
    button.addEventListener('click', () => this.#user.open(user, true))
    return { node: create('li', {}, button), update: () => {} }
  }
}

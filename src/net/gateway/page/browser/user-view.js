// @ts-check
import { ask } from './ask.js'
import { byId, create, KeyedRows, setText } from './dom.js'
import { duration, number, shortId } from './format.js'

/**
 * @import { PresenceReason } from '../explain-user.ts'
 * @import { Device, UserReply } from '../messages.ts'
 * @import { Row } from './dom.js'
 * @import { Channel } from './phoenix.mjs'
 * @import { TopicView } from './topic-view.js'
 */

/**
 * A connection by its place in the list: it has no name that may be told.
 *
 * @typedef {Device & { readonly number: number }} NumberedDevice
 */

/** One user: whether he is online, why, by which connections, and where. Asked for anew with each state. */
export class UserView {
  /** @type {Channel} */
  #cluster
  /** @type {TopicView} */
  #topic
  /** @type {KeyedRows<NumberedDevice>} */
  #devices
  /** @type {KeyedRows<PresenceReason>} */
  #presences
  /** @type {string | undefined} */
  #name
  #asking = false

  /**
   * @param {Channel} cluster
   * @param {TopicView} topic
   */
  constructor(cluster, topic) {
    this.#cluster = cluster
    this.#topic = topic
    this.#devices = new KeyedRows(byId('device-rows'), device => String(device.number), makeDevice)
    this.#presences = new KeyedRows(
      byId('presence-rows'),
      ({ topic: name, ref }) => `${ref} ${name}`,
      presence => this.#makePresence(presence)
    )
  }

  /**
   * @param {string} user
   * @param {boolean} [focus]
   */
  open(user, focus = false) {
    if (user !== this.#name) {
      this.#name = user
      setText(byId('user-name'), user)
      setText(byId('user-why'), 'loading')
      this.#devices.show([])
      this.#presences.show([])
      byId('user-none').hidden = true
      byId('user-open').hidden = false
      this.refresh()
    }
    if (focus) {
      byId('user-name').focus()
    }
  }

  async refresh() {
    const user = this.#name
    if (user === undefined || this.#asking) {
      return
    }
    this.#asking = true
    try {
      /** @type {UserReply} */
      const reply = await ask(this.#cluster, 'user', { user })
      if (user === this.#name) {
        this.#show(reply)
      }
    } catch (error) {
      setText(byId('user-why'), `Nothing could be found out: ${/** @type {Error} */ (error).message}.`)
    } finally {
      this.#asking = false
    }
    if (user !== this.#name) {
      await this.refresh()
    }
  }

  /** @param {UserReply} reply */
  #show({ why, devices, presences, omitted }) {
    const ids = new Set([...devices, ...presences].map(({ replica }) => replica))
    const said = [...ids].reduce((text, id) => text.replaceAll(id, unbroken(shortId(id))), why)
    setText(byId('user-why'), omitted === 0 ? `${said}.` : `${said}. ${number(omitted)} more are not shown.`)
    byId('devices').hidden = devices.length === 0
    byId('presences').hidden = presences.length === 0
    this.#devices.show(devices.map((device, index) => ({ ...device, number: index })))
    this.#presences.show(presences)
  }

  /**
   * @param {PresenceReason} presence
   * @returns {Row<PresenceReason>}
   */
  #makePresence({ topic, key }) {
    const button = create('button', { type: 'button', class: 'link', title: topic }, topic)
    button.addEventListener('click', () => this.#topic.open(topic, true))
    const replica = create('code')
    const status = create('td', {}, replica)
    const age = create('td', { class: 'number' })
    const proven = create('td', { class: 'number' })
    return {
      node: create('tr', {}, create('th', { scope: 'row' }, button, key === this.#name ? '' : `as ${key}`), status, age, proven),
      update: presence => {
        setText(replica, `${shortId(presence.replica)} ${presence.replicaStatus}`)
        setText(age, duration(presence.ageMs))
        setText(proven, presence.provenMsAgo === null ? '–' : duration(presence.provenMsAgo))
      }
    }
  }
}

/**
 * A line may end after the dots.
 *
 * @param {string} id
 */
function unbroken(id) {
  return id.replace('…', '…\u2060')
}

/** @returns {Row<NumberedDevice>} */
function makeDevice() {
  const replica = create('code')
  const state = create('td')
  const age = create('td', { class: 'number' })
  const meta = create('td', { class: 'metas' })
  return {
    node: create('tr', {}, create('th', { scope: 'row' }, replica), state, age, meta),
    update: device => {
      setText(replica, shortId(device.replica))
      setText(state, device.state)
      setText(age, duration(Math.max(0, Date.now() - device.sinceMs)))
      const text = JSON.stringify(device.meta)
      setText(meta, text === '{}' ? '–' : text)
    }
  }
}

// @ts-check
import { ask, soon } from './ask.js'
import { byId, create, KeyedRows, setAttribute, setText } from './dom.js'
import { number, plural } from './format.js'

/**
 * @import { ClusterState, TopicRow, TopicsReply } from '../messages.ts'
 * @import { Row } from './dom.js'
 * @import { Channel } from './phoenix.mjs'
 * @import { TopicView } from './topic-view.js'
 */

/** A list that is worked with keeps its order for so long. */
const STILL_MS = 5_000

/** The list of topics: the largest, as they come by themselves; or those that begin with a text, asked for anew with each state. */
export class TopicsView {
  #filter = /** @type {HTMLInputElement} */ (byId('topic-filter'))
  #more = byId('topics-more')
  /** @type {Channel} */
  #cluster
  /** @type {TopicView} */
  #topic
  /** @type {KeyedRows<TopicRow>} */
  #rows
  /** @type {readonly TopicRow[]} */
  #top = []
  #total = 0
  /** So many presences fill the bar behind a topic. */
  #full = 1
  /** Pages asked for, of the filter. */
  #pages = 1
  #asking = false
  #touchedMs = Number.NEGATIVE_INFINITY

  /**
   * @param {Channel} cluster
   * @param {TopicView} topic
   */
  constructor(cluster, topic) {
    this.#cluster = cluster
    this.#topic = topic
    this.#rows = new KeyedRows(
      byId('topic-rows'),
      row => row.topic,
      row => this.#makeRow(row)
    )
    const search = soon(() => this.#search())
    this.#filter.addEventListener('input', () => {
      this.#pages = 1
      search()
    })
    this.#more.addEventListener('click', () => {
      this.#pages++
      this.#search()
    })
    for (const touch of ['pointermove', 'pointerdown', 'keydown']) {
      byId('topic-rows').addEventListener(touch, () => {
        this.#touchedMs = performance.now()
      })
    }
    topic.onChange = () => this.#render()
  }

  /** @param {ClusterState} state */
  show({ top, topics }) {
    this.#top = top
    this.#full = roundAbove(top[0]?.presences ?? 1)
    this.#total = topics
    this.#render()
    this.refresh()
  }

  /** What is filtered is asked for anew, unless nobody sees it. */
  refresh() {
    if (this.#filter.value !== '' && !document.hidden) {
      this.#search()
    }
  }

  async #search() {
    const prefix = this.#filter.value
    if (prefix === '') {
      this.#render()
      return
    }
    if (this.#asking) {
      return
    }
    this.#asking = true
    try {
      const { topics, cursor } = await this.#ask(prefix)
      if (this.#filter.value === prefix) {
        this.#more.hidden = cursor === null
        this.#rows.show(topics)
        setText(
          byId('topics-said'),
          topics.length === 0 ? 'There is none.' : `${number(topics.length)}${cursor === null ? '' : ' and more'}`
        )
      }
    } catch (error) {
      setText(byId('topics-said'), `The search failed: ${/** @type {Error} */ (error).message}.`)
    } finally {
      this.#asking = false
    }
    if (this.#filter.value !== prefix) {
      await this.#search()
    }
  }

  /**
   * @param {string} prefix
   * @returns {Promise<TopicsReply>}
   */
  async #ask(prefix) {
    /** @type {TopicRow[]} */
    const topics = []
    /** @type {string | null} */
    let cursor = null
    for (let page = 0; page < this.#pages; page++) {
      /** @type {TopicsReply} */
      const reply = await ask(this.#cluster, 'topics', { prefix, cursor })
      topics.push(...reply.topics)
      cursor = reply.cursor
      if (cursor === null) {
        break
      }
    }
    return { topics, cursor }
  }

  #render() {
    if (this.#filter.value !== '') {
      return
    }
    const isHeld = performance.now() - this.#touchedMs < STILL_MS
    this.#more.hidden = true
    this.#rows.show(isHeld ? this.#rows.inPlace(this.#top) : this.#top)
    const all = plural(this.#total, 'topic')
    setText(byId('topics-said'), this.#total > this.#top.length ? `The ${number(this.#top.length)} largest of ${all}` : all)
  }

  /**
   * @param {TopicRow} first
   * @returns {Row<TopicRow>}
   */
  #makeRow({ topic }) {
    const button = create('button', { type: 'button', class: 'link', title: topic }, topic)
    button.addEventListener('click', () => this.#topic.open(topic, true))
    const keys = create('td', { class: 'number' })
    const presences = create('td', { class: 'number' })
    const node = create('tr', {}, create('th', { scope: 'row', class: 'share' }, button), keys, presences)
    return {
      node,
      update: row => {
        setAttribute(button, 'aria-current', String(row.topic === this.#topic.name))
        setText(keys, number(row.keys))
        setText(presences, number(row.presences))
        const share = String(row.presences / this.#full)
        if (node.style.getPropertyValue('--share') !== share) {
          node.style.setProperty('--share', share)
        }
      }
    }
  }
}

/**
 * 1, 2, 5, 10, 20 and so on: it seldom changes, so that the bars of other topics stay when the largest one grows.
 *
 * @param {number} value
 */
function roundAbove(value) {
  const power = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 5].find(each => each * power >= value) ?? 10) * power
}

import { request } from 'node:http'

/** The body of an answer to a long poll. */
export interface PollAnswer {
  readonly status: number
  readonly token?: string
  readonly messages: readonly string[]
}

/** Speaks long poll as the test says, one request at a time. */
export class RawPoller {
  readonly #url: string
  readonly #query: string
  token: string | undefined

  /** @param origin `http://127.0.0.1:port` */
  constructor(origin: string, params: Record<string, string> = {}, token?: string) {
    this.#url = `${origin}/socket/longpoll`
    this.#query = new URLSearchParams({ ...params, vsn: '2.0.0' }).toString()
    this.token = token
  }

  get url(): string {
    return `${this.#url}?${this.#query}&token=${this.token ?? 'null'}`
  }

  /** Keeps the token that it is given. */
  async poll(): Promise<PollAnswer> {
    const answer = await this.#ask('GET')
    this.token = answer.token ?? this.token
    return answer
  }

  async send(...frames: readonly unknown[]): Promise<PollAnswer> {
    return await this.#ask('POST', frames.map(frame => (typeof frame === 'string' ? frame : JSON.stringify(frame))).join('\n'))
  }

  /** Polls until a frame of this event has come; returns all that came. */
  async until(event: string): Promise<unknown[][]> {
    const frames: unknown[][] = []
    while (!frames.some(([, , , each]) => each === event)) {
      const { status, messages } = await this.poll()
      if (status === 410) {
        throw new Error(`the session is gone; until then came ${JSON.stringify(frames)}`)
      }
      frames.push(...messages.map(text => JSON.parse(text) as unknown[]))
    }
    return frames
  }

  /** Begins to poll, and reads nothing of the answer. Returns how to break the connection. */
  pollDeaf(): () => void {
    const asked = request(this.url, response => response.pause())
    asked.on('error', () => undefined).end()
    return () => asked.destroy()
  }

  async #ask(method: string, body?: string): Promise<PollAnswer> {
    const headers = { 'content-type': 'application/x-ndjson' }
    const response = await fetch(this.url, { method, ...(body !== undefined && { body, headers }) })
    return (await response.json()) as PollAnswer
  }
}

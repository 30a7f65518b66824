import { LongPoll } from 'phoenix'
import { type ClientOptions, openClient, type PhoenixClient } from './phoenix-client.ts'

/** The npm client `phoenix` by long polls only, as where a proxy lets no WebSocket through. In Node its requests go through `fetch`. */
export function openLongPollClient(url: string, options: Omit<ClientOptions, 'transport'> = {}): PhoenixClient {
  return openClient(url, { ...options, transport: LongPoll })
}

/** The npm client, which the server serves beside these files under this name. */
export { type Channel, Presence, Socket } from 'phoenix'

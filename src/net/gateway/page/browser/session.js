// @ts-check

/** This tab's token and session: neither outlives the tab. */

const TOKEN = 'rollcall:token'
const SESSION = 'rollcall:session'

/** @returns {string | undefined} */
export function token() {
  return sessionStorage.getItem(TOKEN) ?? undefined
}

/** @param {string} value */
export function signIn(value) {
  sessionStorage.setItem(TOKEN, value)
  location.reload()
}

export function signOut() {
  sessionStorage.removeItem(TOKEN)
  location.reload()
}

/** @returns {string} */
export function session() {
  return sessionStorage.getItem(SESSION) ?? newSession()
}

/** @returns {string} */
export function newSession() {
  // Not randomUUID, which pages that came by plain HTTP lack.
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  const made = Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
  sessionStorage.setItem(SESSION, made)
  return made
}

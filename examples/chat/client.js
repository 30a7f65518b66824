import { Presence, Socket } from '/phoenix.js'

const FACES = ['🦊', '🐼', '🐸', '🦉', '🐙', '🦁', '🐧', '🐝', '🦄', '🐢', '🐳', '🦔']
const [room, say, door, where] = ['room', 'say', 'door', 'where'].map(id => document.getElementById(id))
const avatars = new Map()

function enter(name) {
  let saying = ''
  door.hidden = true
  say.hidden = false
  // One per tab: a tab that is reloaded, or comes back on the other replica, was never away.
  sessionStorage.session ??= crypto.randomUUID()
  const socket = new Socket('/socket', { params: { name, session: sessionStorage.session } })
  const channel = socket.channel('room:lobby', () => ({ saying }))
  const presence = new Presence(channel)
  presence.onSync(() => show(presence.list((user, { metas }) => ({ user, saying: metas.at(-1).saying }))))
  socket.onOpen(() => (where.textContent = `by way of ${location.host}`))
  socket.onClose(() => (where.textContent = 'connecting …'))
  socket.connect()
  channel.join()
  let silence
  const speak = words => {
    saying = words
    channel.push('update', { saying })
    clearTimeout(silence)
    silence = words && setTimeout(speak, 10_000, '')
  }
  say.addEventListener('submit', event => {
    event.preventDefault()
    speak(say.words.value)
    say.reset()
  })
}

function show(people) {
  for (const { user, saying } of people) {
    const avatar = avatars.get(user) ?? come(user)
    avatar.querySelector('q').textContent = saying
  }
  const here = new Set(people.map(({ user }) => user))
  for (const [user, avatar] of avatars) {
    if (!here.has(user)) {
      avatars.delete(user)
      avatar.addEventListener('animationend', () => avatar.remove())
      avatar.className = 'goes'
    }
  }
}

function come(user) {
  const hash = [...user].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) >>> 0, 7)
  const avatar = document.createElement('figure')
  const parts = ['q', 'span', 'figcaption'].map(name => document.createElement(name))
  parts[1].textContent = FACES[hash % FACES.length]
  parts[1].style.background = `hsl(${hash % 360} 70% 80%)`
  parts[2].textContent = user
  avatar.append(...parts)
  room.append(avatar)
  avatars.set(user, avatar)
  return avatar
}

door.addEventListener('submit', event => {
  event.preventDefault()
  sessionStorage.who = door.who.value
  enter(door.who.value)
})
if (sessionStorage.who) {
  enter(sessionStorage.who)
}

import type { Commands } from '../program.ts'

// Loaded when they run: `rollcall --help` should not wait for libp2p.
const client = () => import('./client-commands.ts')

/** All commands of the program. */
export const commands: Commands = {
  serve: async flags => (await import('./serve.ts')).serve(flags),
  demo: async flags => (await import('./demo.ts')).demo(flags),
  sim: async flags => (await import('./sim.ts')).sim(flags),
  watch: async (flags, topic) => (await import('./watch.ts')).watch(flags, topic as string),
  nodes: async flags => (await client()).nodes(flags),
  topics: async (flags, prefix) => (await client()).topics(flags, prefix),
  who: async (flags, topic) => (await client()).who(flags, topic as string),
  count: async (flags, topic) => (await client()).count(flags, topic as string),
  user: async (flags, id) => (await client()).user(flags, id as string),
  doctor: async (flags, id) => (await client()).doctor(flags, id),
  kick: async (flags, id) => (await client()).kick(flags, id as string),
  forget: async (flags, replica) => (await client()).forget(flags, replica as string),
  drain: async flags => (await client()).drain(flags)
}

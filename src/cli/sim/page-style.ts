/** Style sheet of the report. Light and dark by the reader's setting; the colours of faults and curves are told apart without red and green alone. */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --fg: #1c2430; --dim: #667082; --bg: #fbfbfa; --card: #fff; --edge: #e2e4e8; --ok: #0f7b53; --bad: #b3261e;
  --s0: #3b6fd4; --s1: #d9822b; --s2: #0f8b8d; --s3: #a34bb0; --s4: #7a8b2a; --s5: #c2455c }
@media (prefers-color-scheme: dark) { :root { --fg: #e6e9ee; --dim: #98a2b3; --bg: #14171c; --card: #1b1f26; --edge: #2c323c; --ok: #4cc796; --bad: #ff8a80;
  --s0: #7aa5f7; --s1: #f0a860; --s2: #55c5c7; --s3: #cf90da; --s4: #b5c562; --s5: #ee8aa0 } }
body { margin: 0; background: var(--bg); color: var(--fg); font: 15px/1.5 system-ui, sans-serif }
main { max-width: 780px; margin: 0 auto; padding: 32px 20px 64px }
h1 { font-size: 24px; margin: 0 0 4px } h2 { font-size: 18px; margin: 36px 0 8px } h3 { font-size: 14px; margin: 0 0 4px; font-weight: 600 }
.lead, figcaption, .check i, .none { color: var(--dim) }
.ok { color: var(--ok) } .bad { color: var(--bad) }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); gap: 10px }
.tiles div { background: var(--card); border: 1px solid var(--edge); border-radius: 8px; padding: 10px 12px }
.tiles b { display: block; font-size: 20px; font-variant-numeric: tabular-nums } .tiles span { color: var(--dim); font-size: 13px }
.check { padding: 3px 0 } .check ul { margin: 4px 0 8px; color: var(--bad); font-size: 13px }
figure { margin: 12px 0; background: var(--card); border: 1px solid var(--edge); border-radius: 8px; padding: 12px }
figcaption { font-size: 13px }
svg { width: 100%; height: auto; display: block } svg text { font: 11px system-ui, sans-serif; fill: var(--dim) }
text.y { text-anchor: end } text.x { text-anchor: middle }
.grid { stroke: var(--edge) } .bar { fill: var(--s0) } .line { fill: none; stroke-width: 1.6 }
.line.s0 { stroke: var(--s0) } .line.s1 { stroke: var(--s1) } .line.s2 { stroke: var(--s2) } .line.s3 { stroke: var(--s3) } .line.s4 { stroke: var(--s4) } .line.s5 { stroke: var(--s5) }
.key { margin-right: 10px } .key::before { content: "● " }
.key.s0::before { color: var(--s0) } .key.s1::before { color: var(--s1) } .key.s2::before { color: var(--s2) } .key.s3::before { color: var(--s3) } .key.s4::before { color: var(--s4) } .key.s5::before { color: var(--s5) }
.band { fill: var(--dim); opacity: .16 } .band.kill, .band.stop { fill: var(--s5); opacity: .25 } .band.pause { fill: var(--s1); opacity: .25 } .band.cut, .band.blackhole { fill: var(--s3); opacity: .22 }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums } th, td { text-align: left; padding: 4px 10px 4px 0; border-bottom: 1px solid var(--edge) } th { color: var(--dim); font-weight: 500 }
`

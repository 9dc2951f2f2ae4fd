/*
 * Conveniences of the console: live parts, keys, copy buttons, ticking all rows, and curves. Everything else works
 * without this file.
 */

// Sends the viewer's time zone to the server, from the next page on.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
if (zone && !document.cookie.includes(`dirsync_zone=${encodeURIComponent(zone)}`))
  // biome-ignore lint/suspicious/noDocumentCookie: the cookie store exists only behind TLS
  document.cookie = `dirsync_zone=${encodeURIComponent(zone)};path=/;max-age=31536000;samesite=lax${location.protocol === 'https:' ? ';secure' : ''}`

// A page that Back restores from the cache may date from before a sign-out: hide it and load it again.
addEventListener('pagehide', event => {
  document.documentElement.hidden = event.persisted
})
addEventListener('pageshow', event => {
  if (event.persisted) location.reload()
})

// Live parts: one event stream per page. The page is fetched at most every two seconds, and all parts are taken from
// the same answer, because parts from two readings could contradict each other.
const REFRESH_MS = 2000
/** Ids of the parts to refresh, by address. */
const due = new Map()

/** Whether the user is typing in the part or has opened a form there: it is not refreshed until they are done. */
function isInUse(part) {
  return (
    (part.contains(document.activeElement) && document.activeElement.matches('input, textarea, select')) ||
    part.querySelector('details.action[open], details.fold[open], [aria-invalid]') !== null
  )
}

function refresh(part) {
  if (!part.isConnected) return
  const url = part.getAttribute('hx-get')
  if (due.has(url)) return due.get(url).add(part.id)
  due.set(url, new Set([part.id]))
  setTimeout(() => ask(url), REFRESH_MS / 2 + (Math.random() * REFRESH_MS) / 2)
}

function ask(url) {
  const wanted = due.get(url)
  due.delete(url)
  const parts = [...document.querySelectorAll('[data-live]')].filter(
    part => part.getAttribute('hx-get') === url,
  )
  const free = parts.filter(part => !document.hidden && !isInUse(part))
  if (free.some(({ id }) => wanted.has(id))) {
    const [first, ...others] = free
    first.setAttribute('hx-select-oob', others.map(({ id }) => `#${id}:outerMorph`).join(','))
    htmx.trigger(first, 'moved')
  }
  for (const part of parts) if (wanted.has(part.id) && !free.includes(part)) refresh(part)
}

// A part may have come into use while its answer was on the way: it keeps its content, and is refreshed later.
document.addEventListener('htmx:before:swap', event => {
  const { tasks } = event.detail
  for (const task of tasks.filter(({ target }) => target.matches?.('[data-live]') && isInUse(target))) {
    tasks.splice(tasks.indexOf(task), 1)
    refresh(task.target)
  }
})

function refreshAll() {
  for (const part of document.querySelectorAll('[data-live]')) refresh(part)
}

// A browser opens only six connections to a console without TLS, so hidden pages close their stream.
const TRY_AGAIN_MS = 10_000
let stream = null
let isSignedOut = false

function listen() {
  if (stream || document.hidden || isSignedOut || !document.querySelector('[data-live]')) return
  stream = new EventSource('/events')
  // Changes since the page was made, or while the stream was closed, were missed.
  stream.addEventListener('open', refreshAll)
  stream.addEventListener('moved', event => {
    const topics = event.data.split(' ')
    for (const part of document.querySelectorAll('[data-live]'))
      if (part.dataset.live.split(' ').some(topic => topics.includes(topic))) refresh(part)
  })
  stream.addEventListener('error', () => {
    // The browser reconnects by itself, except after an error status: the database is down, or the session is over.
    if (stream?.readyState !== EventSource.CLOSED) return
    leave()
    refreshAll()
    setTimeout(listen, TRY_AGAIN_MS)
  })
}

function leave() {
  stream?.close()
  stream = null
}

listen()
document.addEventListener('visibilitychange', () => (document.hidden ? leave() : listen()))
addEventListener('pagehide', leave)
addEventListener('pageshow', listen)

// The latest answer decides whether the page is marked as outdated; a part that was refused keeps its content.
function tellState(status) {
  isSignedOut = status === 401
  const now = isSignedOut ? 'signed-out' : status === 0 || status >= 400 ? 'stale' : ''
  for (const sentence of document.querySelectorAll('[data-when]'))
    sentence.hidden = sentence.dataset.when !== now
  if (status === 0 || status >= 500) setTimeout(refreshAll, TRY_AGAIN_MS)
}
document.addEventListener('htmx:after:request', event => tellState(event.detail.ctx.response.status))
document.addEventListener('htmx:error', event => {
  if (!event.detail.ctx?.response) tellState(0)
})

// Keys: / searches, j and k move through a list, Enter opens, x ticks.
let row = null

function goTo(next) {
  if (!next) return
  row?.classList.remove('at')
  row = next
  row.classList.add('at')
  row.querySelector('a')?.focus({ preventScroll: true })
  row.scrollIntoView({ block: 'nearest' })
}

/** The rows to move through: those with check boxes if there are any, since the table above only sums them up. */
function rowsToGoThrough() {
  const rows = [...document.querySelectorAll('[data-rows] tbody tr')]
  const tickable = rows.filter(each => each.querySelector('td.tick input'))
  return tickable.length > 0 ? tickable : rows
}

// Esc closes what is open, or leaves the field, and the focus returns to where it came from.
const OPENED = 'details.action[open], details.menu[open]'
/** What had the focus before / was pressed. */
let before = null

function close(target) {
  const open = target.closest(OPENED) ?? [...document.querySelectorAll(OPENED)].at(-1)
  if (open) {
    open.open = false
    open.querySelector('summary').focus()
  } else if (target.matches('[data-search]') && before?.isConnected) before.focus()
  else if (target.matches('input, textarea, select')) target.blur()
}

document.addEventListener('keydown', event => {
  // While characters are composed, Esc ends that alone.
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
  if (event.key === 'Escape') return close(event.target)
  if (event.target.matches('input:not([type=checkbox]), textarea, select')) return
  const rows = rowsToGoThrough()
  const at = rows.indexOf(row)
  if (event.key === '/') {
    event.preventDefault()
    before = document.activeElement
    document.querySelector('[data-search]')?.focus()
  } else if (event.key === 'j') goTo(rows[at + 1] ?? rows[0])
  else if (event.key === 'k') goTo(rows[at - 1] ?? rows.at(-1))
  else if (event.key === 'x') row?.querySelector('input[type=checkbox]')?.click()
})

// Results while one types: one request at a time, then the latest text. Arrow keys move through them.
const TYPED_MS = 250
const field = document.querySelector('[data-search]')
const typed = document.querySelector('.typed')
let typing = 0
let isAsking = false

async function showTyped() {
  const text = field.value.trim()
  if (text.length < 2 || isAsking) {
    typed.hidden ||= text.length < 2
    return
  }
  isAsking = true
  const url = `/search?${new URLSearchParams({ q: text, typing: 'true' })}`
  const answer = await fetch(url).catch(() => null)
  const page = answer?.ok ? new DOMParser().parseFromString(await answer.text(), 'text/html') : null
  isAsking = false
  const found = page?.querySelector('#found')
  if (field.value.trim() !== text) return showTyped()
  // Whoever goes through the results keeps them.
  if (typed.contains(document.activeElement)) return
  const isHere = field.parentElement.contains(document.activeElement)
  if (found) typed.replaceChildren(...found.childNodes)
  typed.hidden = !found || !isHere
}

field?.addEventListener('input', event => {
  clearTimeout(typing)
  if (!event.isComposing) typing = setTimeout(showTyped, TYPED_MS)
})
field?.addEventListener('compositionend', () => {
  clearTimeout(typing)
  typing = setTimeout(showTyped, TYPED_MS)
})
field?.parentElement.addEventListener('keydown', event => {
  const step = { ArrowDown: 1, ArrowUp: -1, Escape: 0 }[event.key]
  if (step === undefined || typed.hidden || event.isComposing) return
  // Esc would empty the field.
  event.preventDefault()
  event.stopPropagation()
  if (step === 0) {
    field.focus()
    typed.hidden = true
    return
  }
  const stops = [field, ...typed.querySelectorAll('a')]
  stops[stops.indexOf(document.activeElement) + step]?.focus()
})
field?.parentElement.addEventListener('focusout', event => {
  if (!field.parentElement.contains(event.relatedTarget)) typed.hidden = true
})

// A click elsewhere closes open menus.
document.addEventListener('click', event => {
  for (const open of document.querySelectorAll(OPENED)) if (!open.contains(event.target)) open.open = false
  const copy = event.target.closest('[data-copy]')
  if (copy) {
    const text = copy.dataset.copy || copy.parentElement.querySelector('pre').textContent
    navigator.clipboard.writeText(text).then(() => {
      if (copy.dataset.copied) copy.textContent = copy.dataset.copied
      else copy.classList.add('copied')
    })
  }
})

// Notices: one that is there from the start is not said aloud, so it is put in anew. It goes after a while, unless it
// is in use.
const FLASH_MS = 10_000

function flash(notice) {
  const place = notice.parentElement
  const dismiss = notice.querySelector('.dismiss')
  dismiss.hidden = false
  dismiss.addEventListener('click', () => {
    notice.remove()
    document.querySelector('main').focus()
  })
  notice.remove()
  setTimeout(() => place.append(notice), 100)
  const leave = () =>
    notice.matches(':hover, :focus-within') || document.hidden ? setTimeout(leave, 1000) : notice.remove()
  setTimeout(leave, FLASH_MS)
}

document.addEventListener('change', event => {
  const all = event.target.closest('[data-tick-all]')
  if (!all) return
  for (const box of document.querySelectorAll(`input[type=checkbox][name="${all.dataset.tickAll}"]`))
    box.checked = all.checked
})

// Leaves what contains the text in view while it is typed; sent, it is a filter of the page.
document.addEventListener('input', event => {
  const list = document.querySelector(`[data-filtered-by="${event.target.name}"]`)
  if (!list || !event.target.closest('.filters')) return
  const wanted = event.target.value.trim().toLowerCase()
  for (const section of list.querySelectorAll('section')) {
    const rows = [...section.querySelectorAll('tbody tr')]
    const title = section.querySelector('h2').textContent.toLowerCase()
    for (const row of rows) row.hidden = !`${title} ${row.textContent}`.toLowerCase().includes(wanted)
    section.hidden = rows.every(({ hidden }) => hidden)
  }
})

// A double click would send a form twice, and its second answer hide what the first one shows once.
const SENT_MS = 2000
/** When each form was sent. */
const sent = new WeakMap()
document.addEventListener('submit', event => {
  if (event.target.method !== 'post') return
  if (performance.now() - sent.get(event.target) < SENT_MS) event.preventDefault()
  else sent.set(event.target, performance.now())
})

// Requires the fields of the chosen action before the form is sent; the server checks them in any case.
function requireFields(form) {
  for (const part of form.querySelectorAll('[data-required-for]'))
    for (const input of part.querySelectorAll('input'))
      input.required = part.dataset.requiredFor === form.elements.action.value
}
document.addEventListener('change', event => {
  const form = event.target.closest('form.act')
  if (form) requireFields(form)
})

/** Shows what is useless without this file. */
function show(root) {
  // A console without TLS may not use the clipboard, except on this machine.
  for (const element of root.querySelectorAll('[data-copy][hidden], [data-tick-all][hidden]'))
    element.hidden = element.matches('[data-copy]') && !navigator.clipboard
  for (const form of root.querySelectorAll('form.act')) requireFields(form)
  for (const plot of root.querySelectorAll('.plot[data-curve]:empty')) draw(plot)
}

// Curves
const FORMATS = {
  percent: language => value =>
    value == null ? '–' : value.toLocaleString(language, { style: 'percent', maximumFractionDigits: 2 }),
  count: language => value =>
    value == null ? '–' : value.toLocaleString(language, { maximumFractionDigits: 0 }),
  per_second: language => value =>
    value == null ? '–' : value.toLocaleString(language, { maximumFractionDigits: 1 }),
}

/** An address of what happened between two moments, in seconds. */
function between(path, from, to) {
  const moment = seconds => `${new Date(seconds * 1000).toISOString().slice(0, 16)}Z`
  const [page, part] = path.split('#')
  return `${page}?from=${moment(from)}&to=${moment(to)}${part ? `#${part}` : ''}`
}

function draw(plot) {
  const { x, series, unit, page, step, list, halted, language, zone, time } = JSON.parse(plot.dataset.curve)
  // Nothing to draw yet; the sentence below says so.
  if (x.length < 2 || series.every(({ values }) => values.every(value => value == null))) return
  const style = getComputedStyle(document.documentElement)
  const probe = document.createElement('span')
  const colour = name => {
    probe.style.color = `var(${name})`
    plot.append(probe)
    const value = getComputedStyle(probe).color
    probe.remove()
    return value
  }
  const format = FORMATS[unit](language)
  const shade = colour('--bad-soft')
  const strokes = [
    colour('--accent'),
    colour('--warn'),
    colour('--bad'),
    colour('--text-soft'),
    colour('--ok'),
  ]
  // Labels show the hour in a span of days, else the day; midnight is the beginning of the day.
  const isShort = x.at(-1) - x[0] <= 2 * 86_400
  const clock = new Intl.DateTimeFormat(language, {
    timeZone: zone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
  const day = new Intl.DateTimeFormat(language, { timeZone: zone, month: 'short', day: 'numeric' })
  const moment = seconds => {
    const hour = clock.format(seconds * 1000)
    return isShort && hour !== '00:00' ? hour : day.format(seconds * 1000)
  }
  const axis = {
    stroke: colour('--text-soft'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
    font: `11px ${style.fontFamily}`,
  }
  const drawn = new uPlot(
    {
      // The plot is hidden, and has no width, until there is something in it.
      width: plot.parentElement.clientWidth || 400,
      height: 150,
      tzDate: seconds => uPlot.tzDate(new Date(seconds * 1000), zone),
      cursor: { points: { size: 6 }, drag: { setScale: false, dist: 5 } },
      hooks: {
        drawClear: [
          ({ ctx, bbox, valToPos }) => {
            ctx.fillStyle = shade
            for (const [i, isHalted] of halted.entries()) {
              if (!isHalted) continue
              const [from, to] = [x[i], x[i] + step].map(seconds =>
                Math.min(bbox.left + bbox.width, Math.round(valToPos(seconds, 'x', true))),
              )
              ctx.fillRect(from, bbox.top, to - from, bbox.height)
            }
          },
        ],
        // What is selected becomes the range of the page, in whole steps and at least two of them, which make a line.
        setSelect: [
          ({ select, posToVal }) => {
            const first = Math.floor(posToVal(select.left, 'x') / step) * step
            const last = Math.ceil(posToVal(select.left + select.width, 'x') / step) * step
            location.assign(between(page, first, Math.max(last, first + 2 * step)))
          },
        ],
      },
      scales: {
        y: {
          range: (_, min, max) =>
            unit === 'percent'
              ? [Math.max(0, min - (1 - min) * 0.1 - 0.001), 1]
              : [0, max > 0 ? max * 1.1 : 1],
        },
      },
      axes: [
        { ...axis, size: 28, values: (_, moments) => moments.map(moment) },
        { ...axis, size: 56, values: (_, values) => values.map(format) },
      ],
      series: [
        {
          label: time,
          value: (_, seconds) =>
            seconds == null ? '–' : new Date(seconds * 1000).toLocaleString(language, { timeZone: zone }),
        },
        ...series.map(({ name }, i) => ({
          label: name,
          stroke: strokes[i % strokes.length],
          width: 1.5,
          dash: i === 0 ? undefined : [[], [6, 3], [2, 2], [8, 2, 2, 2]][i % 4],
          value: (_, value) => format(value),
          // A few points do not make a line yet, so they are drawn as dots.
          points: { show: (plot, i) => plot.data[i].filter(value => value != null).length < 6, size: 4 },
        })),
      ],
    },
    [x, ...series.map(({ values }) => values)],
    plot,
  )
  if (list) {
    drawn.over.classList.add('leads')
    drawn.over.addEventListener('click', () => {
      const at = x[drawn.cursor.idx]
      if (at !== undefined) location.assign(between(list, at, at + step))
    })
  }
  // With a finger neither is possible.
  for (const hint of document.querySelectorAll('[data-curve-hint]'))
    hint.hidden = !matchMedia('(pointer: fine)').matches
}

function start() {
  show(document)
  for (const notice of document.querySelectorAll('[data-flash]')) flash(notice)
}
document.addEventListener('htmx:after:swap', () => {
  show(document)
  // The row that the keys are at is still there, unless it has left the list.
  row?.classList.add('at')
})
if (document.readyState === 'loading') addEventListener('DOMContentLoaded', start)
else start()

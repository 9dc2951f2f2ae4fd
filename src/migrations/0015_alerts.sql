-- Alerts: what is wrong now, who was told of it on which channel, and what people do not want to hear.

-- What a rule found wrong: one row per rule and subject from the moment it holds until it is over. One that
-- is gone before it was raised leaves no row. Kept for 180 days.
create table dirsync.alert (
  -- Number of the alert.
  id                  bigint generated always as identity primary key,
  rule                text not null,                -- Name of the rule, such as halt.
  -- What it is about, where a rule may find several things: scope of a halt, number or kind of a run,
  -- category, role, channel. Names no person.
  subject             text not null default '',
  -- info, warning or critical.
  severity            text not null check (severity in ('info', 'warning', 'critical')),
  -- pending: not yet for as long as its rule wants; firing: raised; ended: over.
  state               text not null default 'pending' check (state in ('pending', 'firing', 'ended')),
  -- Figures and names for its text, as the latest check saw them.
  facts               jsonb not null default '{}',
  since               timestamptz not null,         -- Since when it holds.
  raised_at           timestamptz,                  -- When it was raised; null: it is pending.
  -- When a check first found that it holds no more; null: it holds. It is over once it has been gone for a
  -- minute, so that one that comes and goes is one alert.
  gone_at             timestamptz,
  ended_at            timestamptz,                  -- When it was over, which is when it was gone.
  -- Who takes care of it, so that channels are not told of it again while it goes on; null: no one has said
  -- so.
  acknowledged_by     text,
  acknowledged_at     timestamptz,                  -- When they said so.
  acknowledged_reason text,                         -- What they said; null: nothing.
  -- How often it came back within 15 minutes of being gone; more than 0: it is over only once it has been
  -- gone for as long.
  returns             integer not null default 0 check (returns >= 0),
  check ((state = 'pending') = (raised_at is null)),
  check ((state = 'ended') = (ended_at is not null)),
  check ((acknowledged_by is null) = (acknowledged_at is null))
);
create unique index alert_status on dirsync.alert (rule, subject) where state <> 'ended';
create index alert_ended_at on dirsync.alert (ended_at desc, id desc) where state = 'ended';

-- Messages to channels, written before they are sent: if a process dies, another one sends its messages. At
-- most one per channel waits; unless it is being sent, it is kept up to date. Kept for 30 days.
create table dirsync.alert_message (
  -- Number of the message; receivers may know a repeated one by it.
  id           bigint generated always as identity primary key,
  channel      text not null,                       -- Name of the channel.
  -- alerts: what was raised, goes on or is over; summary: the channel has had its messages for this hour.
  kind         text not null check (kind in ('alerts', 'summary')),
  content      jsonb not null,                      -- What it says, in the channel's language.
  created_at   timestamptz not null default now(),  -- When it was decided upon.
  -- waiting, sent, or given_up after a day of failures.
  state        text not null default 'waiting' check (state in ('waiting', 'sent', 'given_up')),
  attempts     integer not null default 0,          -- How often it was tried.
  not_before   timestamptz not null default now(),  -- When to try (again).
  leased_until timestamptz,                         -- Until when a process may be sending it; null: none is.
  sent_at      timestamptz,                         -- When the channel took it.
  -- What the channel's server answered last, cut short and without secrets.
  answer       text,
  check ((state = 'sent') = (sent_at is not null))
);
-- While a message waits, whatever else happens goes into it.
create unique index alert_message_waiting on dirsync.alert_message (channel) where state = 'waiting';
create index alert_message_sent_at on dirsync.alert_message (channel, sent_at) where state = 'sent';
create index alert_message_created_at on dirsync.alert_message (created_at);

-- Which channel was told what about an alert, and when.
create table dirsync.alert_notice (
  alert_id   bigint not null references dirsync.alert on delete cascade,  -- The alert.
  channel    text not null,                                               -- Name of the channel.
  -- raised, repeated, acknowledged, recovered; withheld: quiet hours or a mute kept it from the channel.
  event      text not null check (event in ('raised', 'repeated', 'acknowledged', 'recovered', 'withheld')),
  at         timestamptz not null default now(),                          -- When that was decided.
  -- The message that says it; null where it was withheld, or the message is older than 30 days.
  message_id bigint references dirsync.alert_message on delete set null
);
create index alert_notice_alert on dirsync.alert_notice (alert_id, channel, at);
create index alert_notice_message on dirsync.alert_notice (message_id) where message_id is not null;

-- The channels that the settings name, as the latest check knew them, and whether they work.
create table dirsync.alert_channel (
  name          text primary key,      -- Name, from ALERT_CHANNEL_<NAME>, in lower case.
  kind          text not null,         -- mail, dingtalk, wecom, feishu, slack or webhook.
  target        text not null,         -- Where messages go, without secrets: host, or mail addresses.
  -- Alerts of a lesser severity are not sent there.
  least         text not null check (least in ('info', 'warning', 'critical')),
  language      text not null,         -- Language of its messages.
  seen_at       timestamptz not null,  -- When a process last had it among its settings.
  last_sent_at  timestamptz,           -- When it last took a message.
  failing_since timestamptz,           -- Since when every message fails; null: none does.
  last_answer   text                   -- What its server answered last, without secrets.
);

-- Rules whose alerts are sent to no channel for a time; they are still checked.
create table dirsync.alert_mute (
  rule     text not null,                          -- Name of the rule.
  until    timestamptz not null,                   -- When it may be heard again.
  reason   text not null,                          -- Why.
  muted_by text not null default dirsync.actor(),  -- Who.
  muted_at timestamptz not null default now(),     -- When.
  -- The subject of the alerts that it keeps back, such as the scope of a halt; null: all of the rule.
  subject  text
);
create unique index alert_mute_all on dirsync.alert_mute (rule) where subject is null;
create unique index alert_mute_one on dirsync.alert_mute (rule, subject) where subject is not null;

-- The hours of each day in which only critical alerts are sent; no row: there are none.
create table dirsync.quiet_hours (
  only_row  boolean primary key default true check (only_row),  -- There is one row at most.
  starts    time not null,                                 -- First minute, in time_zone.
  -- The minute in which they are over; before starts: on the next day.
  ends      time not null check (ends <> starts),
  time_zone text not null,                                 -- IANA name of a time zone, such as Asia/Shanghai.
  set_by    text not null default dirsync.actor(),         -- Who.
  set_at    timestamptz not null default now()             -- When.
);

-- When the rules were last checked. The process that updates it does the check: one at a time.
create table dirsync.alert_check (
  only_row      boolean primary key default true check (only_row),  -- There is one row at most.
  checked_at    timestamptz not null,                          -- When.
  checked_by    uuid not null,                                 -- The process (dirsync.process) that did.
  -- Since when rules have been checked without a break: the first check after three minutes without one.
  watched_since timestamptz not null default now()
);

-- The latest good run that HEARTBEAT_URL was told of: a monitor elsewhere that misses the call raises its
-- alarm.
create table dirsync.heartbeat_call (
  only_row     boolean primary key default true check (only_row),  -- There is one row at most.
  run_id       bigint not null,                               -- The run.
  called_at    timestamptz,                                   -- When the monitor took it; null: not yet.
  attempts     integer not null default 0,                    -- How often it was tried.
  not_before   timestamptz not null default now(),            -- When to try (again).
  -- Until when a process may be calling it; null: none is.
  leased_until timestamptz,
  answer       text                                           -- What the monitor answered last.
);

-- What people ask for ---------------------------------------------------------

create function dirsync.acknowledge_alert(id bigint, reason text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if acknowledge_alert.id is null then
    perform dirsync.refuse('22023', 'said.acknowledge_needs_number',
      hint => 'select dirsync.acknowledge_alert(71, ''we are on it'')');
  end if;
  perform from dirsync.alert a
  where a.id = acknowledge_alert.id and a.state = 'firing' and a.acknowledged_by is null for update;
  if not found then
    return false;
  end if;
  perform dirsync.note_command('acknowledge_alert', null, jsonb_strip_nulls(
    jsonb_build_object('alert', id, 'reason', nullif(btrim(reason), ''))));
  update dirsync.alert a
  set acknowledged_by = dirsync.actor(), acknowledged_at = now(),
      acknowledged_reason = nullif(btrim(reason), '')
  where a.id = acknowledge_alert.id;
  return true;
end $$;
comment on function dirsync.acknowledge_alert is
  'Says that you take care of an alert: its channels are told so once, and not again until it is over. '
  'Returns false if it is over already, or another person was first.';

create function dirsync.mute_alert(
  rule text, until timestamptz, reason text, subject text default null) returns timestamptz
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if coalesce(btrim(rule), '') = '' then
    perform dirsync.refuse('22023', 'said.mute_needs_rule');
  end if;
  if coalesce(btrim(reason), '') = '' then
    perform dirsync.refuse('22023', 'said.needs_reason', jsonb_build_object('name', 'mute_alert'),
      hint => 'select dirsync.mute_alert(''held_run'', now() + interval ''4 hours'', ''we are on it'')');
  end if;
  if until is null or until <= now() or until > now() + interval '30 days' then
    perform dirsync.refuse('22023', 'said.mute_needs_time');
  end if;
  perform dirsync.note_command('mute_alert', null, jsonb_strip_nulls(
    jsonb_build_object('rule', btrim(rule), 'subject', subject, 'until', until, 'reason', btrim(reason))));
  delete from dirsync.alert_mute m
  where m.rule = btrim(mute_alert.rule) and m.subject is not distinct from mute_alert.subject;
  insert into dirsync.alert_mute (rule, subject, until, reason)
  values (btrim(rule), subject, until, btrim(reason));
  return until;
end $$;
comment on function dirsync.mute_alert is
  'Keeps a rule''s alerts from all channels until a time within 30 days, or those about one subject alone. '
  'Returns the time.';

create function dirsync.unmute_alert(rule text, subject text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from dirsync.alert_mute m
                 where m.rule = unmute_alert.rule and m.subject is not distinct from unmute_alert.subject
                   and m.until > now()) then
    return false;
  end if;
  perform dirsync.note_command('unmute_alert', null,
                               jsonb_strip_nulls(jsonb_build_object('rule', rule, 'subject', subject)));
  delete from dirsync.alert_mute m
  where m.rule = unmute_alert.rule and m.subject is not distinct from unmute_alert.subject;
  return true;
end $$;
comment on function dirsync.unmute_alert is
  'Ends a mute before its time: of a rule, or of one subject of it. Returns whether there was one.';

create function dirsync.set_quiet_hours(starts time, ends time, time_zone text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if starts is null or ends is null or starts = ends then
    perform dirsync.refuse('22023', 'said.quiet_hours_need_times',
      hint => 'select dirsync.set_quiet_hours(''22:00'', ''07:00'', ''Asia/Shanghai'')');
  end if;
  if not exists (select from pg_timezone_names z where z.name = time_zone) then
    perform dirsync.refuse('22023', 'said.no_such_time_zone', jsonb_build_object('name', time_zone));
  end if;
  perform dirsync.note_command('set_quiet_hours', null,
    jsonb_build_object('starts', starts, 'ends', ends, 'time_zone', time_zone));
  insert into dirsync.quiet_hours as q (starts, ends, time_zone) values (starts, ends, time_zone)
  on conflict on constraint quiet_hours_pkey do update
  set (starts, ends, time_zone, set_by, set_at)
    = (excluded.starts, excluded.ends, excluded.time_zone, excluded.set_by, now());
end $$;
comment on function dirsync.set_quiet_hours is
  'Sends only critical alerts in these hours of each day. What still holds at their end is told then.';

create function dirsync.clear_quiet_hours() returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from dirsync.quiet_hours) then
    return false;
  end if;
  perform dirsync.note_command('clear_quiet_hours', null, '{}');
  delete from dirsync.quiet_hours;
  return true;
end $$;
comment on function dirsync.clear_quiet_hours is 'Ends quiet hours for good. Returns whether there were any.';

create function dirsync.is_quiet(at timestamptz) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(
    (select case when q.starts < q.ends then l.clock >= q.starts and l.clock < q.ends
                 else l.clock >= q.starts or l.clock < q.ends end
     from dirsync.quiet_hours q
     cross join lateral (select (at at time zone q.time_zone)::time as clock) l),
    false)
$$;
comment on function dirsync.is_quiet is
  'Whether a moment falls into the quiet hours, by the clocks of their time zone.';

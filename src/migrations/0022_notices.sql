-- Telling people: that a case is now theirs, or that a comment names them.

alter table dirsync.console_user add column notice_mail text, add column notice_mention text;
comment on column dirsync.console_user.notice_mail is
  'Where they are told of their cases: as an administrator set it, or as the identity provider said at the last sign-in.';
comment on column dirsync.console_user.notice_mention is
  'Whom a chat mentions to tell them, where there is no mail address: channel and id, such as ops:zhang.';

-- What people are to be told. A process writes each into a message within seconds and deletes it here; one for whom
-- there is no address or channel is deleted without. Kept for a day at most.
create table dirsync.notice (
  id             bigint generated always as identity primary key,  -- Number of the notice.
  -- Who is told.
  user_name      text not null references dirsync.console_user (name) on delete cascade,
  -- assigned: a case is now theirs; commented: a comment names them.
  event          text not null check (event in ('assigned', 'commented')),
  -- The case; of a bulk action, the first one.
  dead_letter_id bigint not null references dirsync.dead_letter on delete cascade,
  -- The bulk action, which is told of once it is over; null: a single case.
  bulk_id        bigint references dirsync.bulk_action on delete cascade,
  cases          integer not null default 1,                       -- Cases of the bulk action so far.
  actor          text not null,                                    -- Who assigned it, or wrote the comment.
  at             timestamptz not null default now()                -- When.
);
create unique index notice_bulk on dirsync.notice (bulk_id, user_name) where bulk_id is not null;
create index notice_case on dirsync.notice (dead_letter_id);
create index notice_user on dirsync.notice (user_name);

create function dirsync.note_notice() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into dirsync.notice as n (user_name, event, dead_letter_id, bulk_id, actor)
  select u.name, new.event, new.dead_letter_id, dirsync.own_word('dirsync.bulk')::bigint, new.actor
  from dirsync.console_user u
  where u.disabled_at is null
    and u.name = any (case new.event
      when 'assigned' then array[lower(new.note)]
      else array(select rtrim(lower(m[1]), '.')
                 from regexp_matches(new.note, '(?<![^\s(（,，、:：])@([^\s,，、;；:：!！?？。()（）]+)', 'g') m) end)
    -- Nobody is told of what they do themselves.
    and dirsync.own_word('dirsync.actor') is distinct from 'console:' || u.name
  on conflict (bulk_id, user_name) where bulk_id is not null do update set cases = n.cases + 1;
  if found then
    perform pg_notify('dirsync', 'alerts');
  end if;
  return null;
end $$;
comment on function dirsync.note_notice is
  'Notes who is to be told of an assignment or a comment: the user of that name, and the users that it names with @.';
create trigger case_noticed after insert on dirsync.dead_letter_event
  for each row when (new.event in ('assigned', 'commented')) execute function dirsync.note_notice();

-- Rows are not checked again: every kind that there is passes.
alter table dirsync.alert_message
  drop constraint alert_message_kind_check,
  add constraint alert_message_kind_check check (kind in ('alerts', 'summary', 'events', 'notice')) not valid;
comment on column dirsync.alert_message.channel is
  'Name of the channel; of a notice, also whom it is for, such as ops/zhang, and of a mail to recipients who were put off, '
  'also which message it was, such as ops//12: processes of earlier versions leave those alone.';
comment on column dirsync.alert_message.kind is
  'alerts: what was raised, goes on or is over; summary: the channel has had its messages for this hour; events: of runs '
  'and cases, for a webhook; notice: one person is told of their cases.';

-- Only the owner may call a function of this schema, and the reviewer where migrate grants it.
revoke execute on all functions in schema dirsync from public;

-- A process is named alike everywhere: `host (1234)`. Alerts about lost ones and their mutes go on.
update dirsync.alert set subject = regexp_replace(subject, ' \(process (\d+)\)$', ' (\1)')
where rule = 'process_lost' and state <> 'ended';
update dirsync.alert_mute set subject = regexp_replace(subject, ' \(process (\d+)\)$', ' (\1)')
where rule = 'process_lost';

-- Events of runs and cases for webhooks.

alter table dirsync.alert_channel add column events text[], add column event_place bigint;
comment on column dirsync.alert_channel.events is
  'The events of runs and cases that it gets instead of alerts, such as run.*; null: it gets alerts.';
comment on column dirsync.alert_channel.event_place is
  'The place up to which its events have been written into messages; null: none has.';

-- Rows are not checked again: every kind that there is passes.
alter table dirsync.alert_message
  drop constraint alert_message_kind_check,
  add constraint alert_message_kind_check check (kind in ('alerts', 'summary', 'events')) not valid;

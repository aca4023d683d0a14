-- Incidents are evidence: what was received, word for word, and what people made of it.

-- Where the evidence comes from: the gateway's signed message, or its answer to a question of ours, each as received; or
-- only what we read in it. Those from before this migration are readings, though their column said otherwise.
create type evidence_source as enum ('message', 'answer', 'reading');
alter table incidents add column source evidence_source not null default 'reading';
-- Text, because jsonb keeps a meaning and not the words: it orders keys, drops repeated ones and writes numbers anew.
alter table incidents alter column evidence type text using evidence::text;
comment on column incidents.evidence is 'What the gateway said, word for word; with the source `reading`, what we read in it.';

-- What people call it. There are gaps: a message that comes again draws a number and adds no row.
alter table incidents add column nth bigint generated always as identity unique;
create trigger incidents_only_grow before update or delete on incidents for each row execute function refuse_change();

-- That somebody looked at it, and what came of it. Once: whoever settles it again changes nothing.
create table settlements (
    incident bigint primary key references incidents (nth),
    at timestamptz not null default clock_timestamp(),
    -- As they call themselves: whoever has the database may write in it, so this is a note and no proof.
    settled_by text not null check (settled_by <> ''),
    note text not null check (note <> '')
);
create trigger settlements_only_grow before update or delete on settlements for each row execute function refuse_change();

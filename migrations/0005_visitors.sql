-- Sessions of visitors. A row appears with the visitor's first hold, not with the first page.
create table sessions (
    id uuid primary key,
    data jsonb not null,
    expires_at timestamptz not null
);

-- Guards that cost the hold more than they gave it. A check constraint is read anew from its text at every execution of a
-- statement that writes its table; measured, these took an eighth of a hold's time. `matinee prove` asks what they asked.

-- It also locked the show's own row, and so let everybody who held seats of a show write to the same row.
alter table orders drop constraint orders_show_id_fkey;
-- Said by the statements that write them, which are few and all in src/store/sql.
alter table orders drop constraint orders_nth_check;
alter table orders drop constraint orders_check1;
alter table orders drop constraint orders_check2;
alter table seats drop constraint seats_seat_no_check;

comment on column orders.nth is
    'A hold takes the visitor''s next number in the show, and so does the one renewal of a hold: two that run at the same
     time compute the same one, and the second fails on the index and is judged again.';

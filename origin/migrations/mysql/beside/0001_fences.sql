-- Fences: of each thing that a lock guards, the greatest number with which anybody has acted on it. It is written in the
-- transaction of the act, so that who comes late, with a smaller one, finds it and does nothing. A row stays as long as the
-- thing does.
CREATE TABLE fences (
    guarded VARBINARY(255) PRIMARY KEY,
    fence   BIGINT         NOT NULL
) ENGINE = InnoDB;

-- token: gpuboard~gpu01~2kIrTKAtjAfHaYPCvYhWUqaQYQL2CVoaWIeHaiX6XIo
BEGIN TRANSACTION;
CREATE TABLE audit (
            id VARCHAR PRIMARY KEY, at DOUBLE PRECISION NOT NULL, who VARCHAR, what VARCHAR NOT NULL,
            way VARCHAR, through VARCHAR, address VARCHAR, detail VARCHAR);
INSERT INTO "audit" VALUES('01795006502844071-69024ec5',1.79500650284407138827e+09,NULL,'booking-made',NULL,NULL,NULL,'0a1b2c3d4e booking of ana: gpu01:0');
CREATE TABLE booking_places (
            booking VARCHAR NOT NULL, node VARCHAR NOT NULL, gpu INTEGER NOT NULL,
            start_at DOUBLE PRECISION NOT NULL, end_at DOUBLE PRECISION NOT NULL,
            PRIMARY KEY (booking, node, gpu));
INSERT INTO "booking_places" VALUES('0a1b2c3d4e','gpu01',0,1795000000.0,1795003600.0);
CREATE TABLE bookings (
            id VARCHAR PRIMARY KEY, kind VARCHAR NOT NULL, who VARCHAR NOT NULL, owner VARCHAR NOT NULL,
            gpus INTEGER NOT NULL, start_at DOUBLE PRECISION NOT NULL, end_at DOUBLE PRECISION NOT NULL,
            comment VARCHAR, outcome VARCHAR, created_at DOUBLE PRECISION NOT NULL, through VARCHAR,
            revision INTEGER NOT NULL, used_seconds DOUBLE PRECISION NOT NULL,
            others_seconds DOUBLE PRECISION NOT NULL, unused_seconds DOUBLE PRECISION NOT NULL,
            unobserved_seconds DOUBLE PRECISION NOT NULL, absent_seconds DOUBLE PRECISION NOT NULL,
            came_at DOUBLE PRECISION);
INSERT INTO "bookings" VALUES('0a1b2c3d4e','booking','ana','ana',1,1795000000.0,1795003600.0,'a paper',NULL,1794999000.0,NULL,0,0.0,0.0,0.0,0.0,0.0,NULL);
CREATE TABLE enrolment_codes (
            digest VARCHAR PRIMARY KEY, node VARCHAR NOT NULL, created_at DOUBLE PRECISION NOT NULL,
            expires_at DOUBLE PRECISION NOT NULL);
CREATE TABLE facts (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
INSERT INTO "facts" VALUES('node_tokens_generation','f2114576f53e33e6');
INSERT INTO "facts" VALUES('board_url','http://127.0.0.1:8042/');
INSERT INTO "facts" VALUES('bookings_generation','1');
CREATE TABLE folder_marks (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
CREATE TABLE folder_owners (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
CREATE TABLE kept_claims (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
CREATE TABLE known_browsers (
            digest VARCHAR NOT NULL, person VARCHAR NOT NULL, seen_at DOUBLE PRECISION NOT NULL,
            PRIMARY KEY (digest, person));
CREATE TABLE node_places (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
CREATE TABLE node_positions (
            node VARCHAR PRIMARY KEY, boot_id VARCHAR NOT NULL, earlier_boots VARCHAR NOT NULL,
            shown BIGINT, taken BIGINT);
CREATE TABLE node_tokens (
            digest VARCHAR PRIMARY KEY, node VARCHAR NOT NULL, created_at DOUBLE PRECISION NOT NULL,
            last_used_at DOUBLE PRECISION, expires_at DOUBLE PRECISION);
INSERT INTO "node_tokens" VALUES('c093879d192c16035954fee06d6235b249da637d92c488fdaaaa3e369d4f7c3d','gpu01',1.79500650283223223691e+09,NULL,NULL);
CREATE TABLE people (
            name VARCHAR PRIMARY KEY, role VARCHAR NOT NULL, display_name VARCHAR, password VARCHAR,
            created_at DOUBLE PRECISION NOT NULL);
CREATE TABLE person_tokens (
            id VARCHAR PRIMARY KEY, digest VARCHAR NOT NULL, person VARCHAR NOT NULL, role VARCHAR NOT NULL,
            name VARCHAR NOT NULL, kind VARCHAR NOT NULL, scopes VARCHAR NOT NULL, way VARCHAR NOT NULL,
            through VARCHAR, created_at DOUBLE PRECISION NOT NULL, last_used_at DOUBLE PRECISION,
            expires_at DOUBLE PRECISION);
CREATE TABLE schema_versions (
	version INTEGER NOT NULL, 
	applied_at DOUBLE NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "schema_versions" VALUES(1,1.79500650277528142929e+09);
INSERT INTO "schema_versions" VALUES(2,1.79500650277590298648e+09);
INSERT INTO "schema_versions" VALUES(3,1795006502.77612);
INSERT INTO "schema_versions" VALUES(4,1.79500650277699828148e+09);
INSERT INTO "schema_versions" VALUES(5,1.79500650277720594401e+09);
INSERT INTO "schema_versions" VALUES(6,1.79500650277739906305e+09);
INSERT INTO "schema_versions" VALUES(7,1.79500650277808308603e+09);
INSERT INTO "schema_versions" VALUES(8,1.79500650277857327465e+09);
CREATE TABLE sessions (
            id VARCHAR PRIMARY KEY, digest VARCHAR NOT NULL, earlier_digest VARCHAR,
            exchanged_at DOUBLE PRECISION NOT NULL, person VARCHAR NOT NULL, role VARCHAR NOT NULL,
            display_name VARCHAR, way VARCHAR NOT NULL, through VARCHAR, groups VARCHAR NOT NULL,
            address VARCHAR, created_at DOUBLE PRECISION NOT NULL, last_used_at DOUBLE PRECISION NOT NULL,
            expires_at DOUBLE PRECISION NOT NULL);
CREATE TABLE sign_in_links (
            digest VARCHAR PRIMARY KEY, kind VARCHAR NOT NULL, person VARCHAR NOT NULL, role VARCHAR NOT NULL,
            way VARCHAR NOT NULL, through VARCHAR, created_at DOUBLE PRECISION NOT NULL,
            expires_at DOUBLE PRECISION NOT NULL, used_at DOUBLE PRECISION);
CREATE INDEX node_tokens_by_node ON node_tokens (node);
CREATE UNIQUE INDEX sessions_by_digest ON sessions (digest);
CREATE INDEX sessions_by_person ON sessions (person);
CREATE UNIQUE INDEX person_tokens_by_digest ON person_tokens (digest);
CREATE INDEX person_tokens_by_person ON person_tokens (person);
CREATE INDEX bookings_by_end ON bookings (end_at);
CREATE INDEX bookings_by_owner ON bookings (owner, end_at);
CREATE INDEX booking_places_by_node ON booking_places (node, end_at);
COMMIT;
-- token: gpuboard~gpu01~1UEBLCLsdSSXJvFuWqRk_tVhmxMScjZIJlZpi7YNSS8
BEGIN TRANSACTION;
CREATE TABLE audit (
            id VARCHAR PRIMARY KEY, at DOUBLE PRECISION NOT NULL, who VARCHAR, what VARCHAR NOT NULL,
            way VARCHAR, through VARCHAR, address VARCHAR, detail VARCHAR);
INSERT INTO "audit" VALUES('01795031874010243-a8912f8d',1.79503187401024317743e+09,NULL,'person-add','command',NULL,NULL,'ana as admin');
INSERT INTO "audit" VALUES('01795031874013885-ac90bc0b',1.79503187401388525964e+09,'ana','password-set','password',NULL,'192.0.2.7',NULL);
INSERT INTO "audit" VALUES('01795031874013885-6fc18835',1.79503187401388525964e+09,'ana','sign-in','password',NULL,'192.0.2.7','as admin, by link');
INSERT INTO "audit" VALUES('01795031874021859-be5ae66a',1.79503187402185964589e+09,NULL,'person-role','command',NULL,NULL,'ben is viewer');
INSERT INTO "audit" VALUES('01795031874026081-eed82334',1.79503187402608156211e+09,'ben','log-in','node','gpu01',NULL,'gpu01');
INSERT INTO "audit" VALUES('01795031874032070-ce4b91d7',1.7950318740320706368e+09,'ana','token-made',NULL,NULL,NULL,'573e67f30d04 of ana, cron: read');
INSERT INTO "audit" VALUES('01795031874034996-b16f350c',1.79503187403499674798e+09,NULL,'booking-made',NULL,NULL,NULL,'0a1b2c3d4e booking of Ana: gpu01:0 gpu02');
INSERT INTO "audit" VALUES('01795031874050637-83666aea',1.79503187405063772204e+09,NULL,'booking-made',NULL,NULL,NULL,'0a1b2c3d4f block of ana: gpu02:1');
CREATE TABLE booking_places (
            booking VARCHAR NOT NULL, node VARCHAR NOT NULL, gpu INTEGER NOT NULL,
            start_at DOUBLE PRECISION NOT NULL, end_at DOUBLE PRECISION NOT NULL,
            PRIMARY KEY (booking, node, gpu));
INSERT INTO "booking_places" VALUES('0a1b2c3d4e','gpu01',0,1795000000.0,1795003600.0);
INSERT INTO "booking_places" VALUES('0a1b2c3d4e','gpu02',-2,1795000000.0,1795003600.0);
INSERT INTO "booking_places" VALUES('0a1b2c3d4f','gpu02',1,1795003600.0,1795007200.0);
CREATE TABLE bookings (
            id VARCHAR PRIMARY KEY, kind VARCHAR NOT NULL, who VARCHAR NOT NULL, owner VARCHAR NOT NULL,
            gpus INTEGER NOT NULL, start_at DOUBLE PRECISION NOT NULL, end_at DOUBLE PRECISION NOT NULL,
            comment VARCHAR, outcome VARCHAR, created_at DOUBLE PRECISION NOT NULL, through VARCHAR,
            revision INTEGER NOT NULL, used_seconds DOUBLE PRECISION NOT NULL,
            others_seconds DOUBLE PRECISION NOT NULL, unused_seconds DOUBLE PRECISION NOT NULL,
            unobserved_seconds DOUBLE PRECISION NOT NULL, absent_seconds DOUBLE PRECISION NOT NULL,
            came_at DOUBLE PRECISION, changed_at DOUBLE PRECISION);
INSERT INTO "bookings" VALUES('0a1b2c3d4e','booking','Ana','ana',9,1795000000.0,1795003600.0,'a paper',NULL,1794999000.0,'gpu01',0,100.0,0.0,50.0,0.0,0.0,1795000100.0,1.79503187403499674798e+09);
INSERT INTO "bookings" VALUES('0a1b2c3d4f','block','ana','ana',1,1795003600.0,1795007200.0,NULL,NULL,1794999000.0,NULL,0,0.0,0.0,0.0,0.0,0.0,NULL,1.79503187405063772204e+09);
CREATE TABLE enrolment_codes (
            digest VARCHAR PRIMARY KEY, node VARCHAR NOT NULL, created_at DOUBLE PRECISION NOT NULL,
            expires_at DOUBLE PRECISION NOT NULL);
CREATE TABLE facts (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
INSERT INTO "facts" VALUES('node_tokens_generation','230c44dd1181d7e2');
INSERT INTO "facts" VALUES('board_url','http://127.0.0.1:8042/');
INSERT INTO "facts" VALUES('accounts_generation','9f6f60fb045cc81d');
INSERT INTO "facts" VALUES('bookings_generation','2');
CREATE TABLE folder_marks (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
CREATE TABLE folder_owners (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
CREATE TABLE kept_claims (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
CREATE TABLE known_browsers (
            digest VARCHAR NOT NULL, person VARCHAR NOT NULL, seen_at DOUBLE PRECISION NOT NULL,
            PRIMARY KEY (digest, person));
INSERT INTO "known_browsers" VALUES('bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb','ana',1.79503187401388525964e+09);
CREATE TABLE node_places (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
CREATE TABLE node_positions (
            node VARCHAR PRIMARY KEY, boot_id VARCHAR NOT NULL, earlier_boots VARCHAR NOT NULL,
            shown BIGINT, taken BIGINT);
CREATE TABLE node_tokens (
            digest VARCHAR PRIMARY KEY, node VARCHAR NOT NULL, created_at DOUBLE PRECISION NOT NULL,
            last_used_at DOUBLE PRECISION, expires_at DOUBLE PRECISION);
INSERT INTO "node_tokens" VALUES('edfeb43589de52e9a6cac237f9aac8dd00016d0d663737afe7fb6f1f87a4032e','gpu01',1.79503187400367546083e+09,NULL,NULL);
CREATE TABLE people (
            name VARCHAR PRIMARY KEY, role VARCHAR NOT NULL, display_name VARCHAR, password VARCHAR,
            created_at DOUBLE PRECISION NOT NULL);
INSERT INTO "people" VALUES('ana','admin',NULL,'$argon2id$v=19$m=65536,t=3,p=1$c29tZXNhbHQ$0',1.79503187400819635391e+09);
INSERT INTO "people" VALUES('ben','viewer',NULL,NULL,1.79503187402185964589e+09);
CREATE TABLE person_tokens (
            id VARCHAR PRIMARY KEY, digest VARCHAR NOT NULL, person VARCHAR NOT NULL, role VARCHAR NOT NULL,
            name VARCHAR NOT NULL, kind VARCHAR NOT NULL, scopes VARCHAR NOT NULL, way VARCHAR NOT NULL,
            through VARCHAR, created_at DOUBLE PRECISION NOT NULL, last_used_at DOUBLE PRECISION,
            expires_at DOUBLE PRECISION);
INSERT INTO "person_tokens" VALUES('6efd0068573b','5452d25fff2a48d5672118b8a99739fa59d74ac800d2b742158c81255e18e78d','ben','viewer','gpu01','login','["read","book"]','node','gpu01',1.79503187402608156211e+09,NULL,1.79762387402608156197e+09);
INSERT INTO "person_tokens" VALUES('573e67f30d04','387526c145e1e4247ccaec24d72ef62ea44709c786d2913c1499479bce74faff','ana','admin','cron','personal','["read"]','password',NULL,1.7950318740320706368e+09,NULL,NULL);
CREATE TABLE schema_versions (
	version INTEGER NOT NULL, 
	applied_at DOUBLE NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "schema_versions" VALUES(1,1.79503187398288536072e+09);
INSERT INTO "schema_versions" VALUES(2,1.79503187398363828666e+09);
INSERT INTO "schema_versions" VALUES(3,1.79503187398401379583e+09);
INSERT INTO "schema_versions" VALUES(4,1.79503187398432350156e+09);
INSERT INTO "schema_versions" VALUES(5,1.7950318739846291542e+09);
INSERT INTO "schema_versions" VALUES(6,1.79503187398496246341e+09);
INSERT INTO "schema_versions" VALUES(7,1.79503187398620724676e+09);
INSERT INTO "schema_versions" VALUES(8,1.79503187399517226225e+09);
INSERT INTO "schema_versions" VALUES(9,1.79503187399599051471e+09);
CREATE TABLE sessions (
            id VARCHAR PRIMARY KEY, digest VARCHAR NOT NULL, earlier_digest VARCHAR,
            exchanged_at DOUBLE PRECISION NOT NULL, person VARCHAR NOT NULL, role VARCHAR NOT NULL,
            display_name VARCHAR, way VARCHAR NOT NULL, through VARCHAR, groups VARCHAR NOT NULL,
            address VARCHAR, created_at DOUBLE PRECISION NOT NULL, last_used_at DOUBLE PRECISION NOT NULL,
            expires_at DOUBLE PRECISION NOT NULL);
INSERT INTO "sessions" VALUES('3cfb2d5305695379','eddc2bcf4ee8ddb919a4ce5c14b3a2ebe7e910da094f1814b837aea529e87e43',NULL,1.79503187401388525964e+09,'ana','admin',NULL,'password',NULL,'[]','192.0.2.7',1.79503187401388525964e+09,1.79503187401388525964e+09,1.79762387401388525967e+09);
CREATE TABLE sign_in_links (
            digest VARCHAR PRIMARY KEY, kind VARCHAR NOT NULL, person VARCHAR NOT NULL, role VARCHAR NOT NULL,
            way VARCHAR NOT NULL, through VARCHAR, created_at DOUBLE PRECISION NOT NULL,
            expires_at DOUBLE PRECISION NOT NULL, used_at DOUBLE PRECISION);
INSERT INTO "sign_in_links" VALUES('8276c9bb92c9bded21910bdb21fd1854592d2c80c73e357fa2028e6207f954ff','set-up','ana','admin','password',NULL,1.79503187401024317743e+09,1.79503547401024317743e+09,1.79503187401388525964e+09);
INSERT INTO "sign_in_links" VALUES('2596bbd3b0c6bfe19f8d898ea604dca082ad065d8887732693b8e71a5b40a3da','sign-in','ben','viewer','node','gpu01',1.79503187402608156211e+09,1.79503199402608156201e+09,NULL);
CREATE INDEX node_tokens_by_node ON node_tokens (node);
CREATE UNIQUE INDEX sessions_by_digest ON sessions (digest);
CREATE INDEX sessions_by_person ON sessions (person);
CREATE UNIQUE INDEX person_tokens_by_digest ON person_tokens (digest);
CREATE INDEX person_tokens_by_person ON person_tokens (person);
CREATE INDEX bookings_by_end ON bookings (end_at);
CREATE INDEX bookings_by_owner ON bookings (owner, end_at);
CREATE INDEX booking_places_by_node ON booking_places (node, end_at);
CREATE INDEX booking_places_by_end ON booking_places (end_at);
COMMIT;

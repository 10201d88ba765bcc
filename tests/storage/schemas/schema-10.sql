-- token: gpuboard~gpu01~xCcYu2TCad5rd3rdr3ZDr3GjbMcsZDFsBJ9DhxUT3Is
BEGIN TRANSACTION;
CREATE TABLE audit (
            id VARCHAR PRIMARY KEY, at DOUBLE PRECISION NOT NULL, who VARCHAR, what VARCHAR NOT NULL,
            way VARCHAR, through VARCHAR, address VARCHAR, detail VARCHAR);
INSERT INTO "audit" VALUES('01795063479053508-fd0314cd',1.79506347905350828169e+09,NULL,'person-add','command',NULL,NULL,'ana as admin');
INSERT INTO "audit" VALUES('01795063479055270-3278e9a4',1.79506347905527067184e+09,'ana','password-set','password',NULL,'192.0.2.7',NULL);
INSERT INTO "audit" VALUES('01795063479055270-508263d8',1.79506347905527067184e+09,'ana','sign-in','password',NULL,'192.0.2.7','as admin, by link');
INSERT INTO "audit" VALUES('01795063479059158-97c74ce2',1.79506347905915880202e+09,NULL,'person-role','command',NULL,NULL,'ben is viewer');
INSERT INTO "audit" VALUES('01795063479061548-674f8d21',1.79506347906154847143e+09,'ben','log-in','node','gpu01',NULL,'gpu01');
INSERT INTO "audit" VALUES('01795063479064276-f988818a',1.79506347906427669519e+09,NULL,'token-made',NULL,NULL,NULL,'2d4c7be934c7 of ana, cron: read');
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
            came_at DOUBLE PRECISION, changed_at DOUBLE PRECISION, told VARCHAR);
INSERT INTO "bookings" VALUES('0a1b2c3d4e','booking','Ana','ana',9,1795000000.0,1795003600.0,'a paper',NULL,1794999000.0,'gpu01',0,100.0,0.0,50.0,0.0,0.0,1795000100.0,1794999000.0,'["no-show"]');
INSERT INTO "bookings" VALUES('0a1b2c3d4f','block','ana','ana',1,1795003600.0,1795007200.0,NULL,NULL,1794999000.0,NULL,0,0.0,0.0,0.0,0.0,0.0,NULL,1794999000.0,NULL);
CREATE TABLE enrolment_codes (
            digest VARCHAR PRIMARY KEY, node VARCHAR NOT NULL, created_at DOUBLE PRECISION NOT NULL,
            expires_at DOUBLE PRECISION NOT NULL);
CREATE TABLE facts (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
INSERT INTO "facts" VALUES('node_tokens_generation','3d282b7ae0b4d393');
INSERT INTO "facts" VALUES('board_url','http://127.0.0.1:8042/');
INSERT INTO "facts" VALUES('accounts_generation','d8b1db3107e572f2');
INSERT INTO "facts" VALUES('bookings_generation','1');
CREATE TABLE folder_marks (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
CREATE TABLE folder_owners (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
CREATE TABLE kept_claims (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
CREATE TABLE known_browsers (
            digest VARCHAR NOT NULL, person VARCHAR NOT NULL, seen_at DOUBLE PRECISION NOT NULL,
            PRIMARY KEY (digest, person));
INSERT INTO "known_browsers" VALUES('bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb','ana',1.79506347905527067184e+09);
CREATE TABLE node_places (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
CREATE TABLE node_positions (
            node VARCHAR PRIMARY KEY, boot_id VARCHAR NOT NULL, earlier_boots VARCHAR NOT NULL,
            shown BIGINT, taken BIGINT);
CREATE TABLE node_tokens (
            digest VARCHAR PRIMARY KEY, node VARCHAR NOT NULL, created_at DOUBLE PRECISION NOT NULL,
            last_used_at DOUBLE PRECISION, expires_at DOUBLE PRECISION);
INSERT INTO "node_tokens" VALUES('2ca214c62eff913a20e9cb42bfa1662f21f064800691cff560b3ca2d3216807c','gpu01',1.79506347905037331579e+09,NULL,NULL);
CREATE TABLE people (
            name VARCHAR PRIMARY KEY, role VARCHAR NOT NULL, display_name VARCHAR, password VARCHAR,
            created_at DOUBLE PRECISION NOT NULL);
INSERT INTO "people" VALUES('ana','admin',NULL,'$argon2id$v=19$m=65536,t=3,p=1$c29tZXNhbHQ$0',1.7950634790525252819e+09);
INSERT INTO "people" VALUES('ben','viewer',NULL,NULL,1.79506347905915880202e+09);
CREATE TABLE person_tokens (
            id VARCHAR PRIMARY KEY, digest VARCHAR NOT NULL, person VARCHAR NOT NULL, role VARCHAR NOT NULL,
            name VARCHAR NOT NULL, kind VARCHAR NOT NULL, scopes VARCHAR NOT NULL, way VARCHAR NOT NULL,
            through VARCHAR, created_at DOUBLE PRECISION NOT NULL, last_used_at DOUBLE PRECISION,
            expires_at DOUBLE PRECISION);
INSERT INTO "person_tokens" VALUES('5cb1f658757d','e2eb734f995251ef3a93ee57c53806a6293ba1d06f9603d1cb83d1cb920f7207','ben','viewer','gpu01','login','["read","book"]','node','gpu01',1.79506347906154847143e+09,NULL,1.79765547906154847142e+09);
INSERT INTO "person_tokens" VALUES('2d4c7be934c7','a0511c7035d6a2f89ebaa6aea804c600fad69fbf83bd16d8ca3769944a608ba8','ana','admin','cron','personal','["read"]','password',NULL,1.79506347906427669519e+09,NULL,NULL);
CREATE TABLE schema_versions (
	version INTEGER NOT NULL, 
	applied_at DOUBLE NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "schema_versions" VALUES(1,1.79506347904528093333e+09);
INSERT INTO "schema_versions" VALUES(2,1.79506347904572200772e+09);
INSERT INTO "schema_versions" VALUES(3,1.79506347904586172105e+09);
INSERT INTO "schema_versions" VALUES(4,1.7950634790459804535e+09);
INSERT INTO "schema_versions" VALUES(5,1.79506347904609465599e+09);
INSERT INTO "schema_versions" VALUES(6,1.79506347904620099063e+09);
INSERT INTO "schema_versions" VALUES(7,1.79506347904668378829e+09);
INSERT INTO "schema_versions" VALUES(8,1.79506347904695868489e+09);
INSERT INTO "schema_versions" VALUES(9,1.79506347904726147653e+09);
INSERT INTO "schema_versions" VALUES(10,1.79506347904749655728e+09);
CREATE TABLE sessions (
            id VARCHAR PRIMARY KEY, digest VARCHAR NOT NULL, earlier_digest VARCHAR,
            exchanged_at DOUBLE PRECISION NOT NULL, person VARCHAR NOT NULL, role VARCHAR NOT NULL,
            display_name VARCHAR, way VARCHAR NOT NULL, through VARCHAR, groups VARCHAR NOT NULL,
            address VARCHAR, created_at DOUBLE PRECISION NOT NULL, last_used_at DOUBLE PRECISION NOT NULL,
            expires_at DOUBLE PRECISION NOT NULL);
INSERT INTO "sessions" VALUES('11e4928b29733783','d2de356b1de543add213730b59d8c1672b7fca39202e8931473ffd3b39554ff5',NULL,1.79506347905527067184e+09,'ana','admin',NULL,'password',NULL,'[]','192.0.2.7',1.79506347905527067184e+09,1.79506347905527067184e+09,1.79765547905527067187e+09);
CREATE TABLE sign_in_links (
            digest VARCHAR PRIMARY KEY, kind VARCHAR NOT NULL, person VARCHAR NOT NULL, role VARCHAR NOT NULL,
            way VARCHAR NOT NULL, through VARCHAR, created_at DOUBLE PRECISION NOT NULL,
            expires_at DOUBLE PRECISION NOT NULL, used_at DOUBLE PRECISION);
INSERT INTO "sign_in_links" VALUES('ba96124bc43a42e68743b5fdc158b7937e1a49d196c7dbca8e84788e70b64e5e','set-up','ana','admin','password',NULL,1.79506347905350828169e+09,1.79506707905350828169e+09,1.79506347905527067184e+09);
INSERT INTO "sign_in_links" VALUES('71e55dfe30830ffc9232bb2b34b7bae0c6a084170b52679c047be53abe9b884d','sign-in','ben','viewer','node','gpu01',1.79506347906154847143e+09,1.79506359906154847145e+09,NULL);
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

-- An old export: every column is NOT NULL, and what is missing is 0. Marks end at 0, a range that was never closed does
-- too, one ends before it starts, and end threads are 0.
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER NOT NULL, eventType INTEGER NOT NULL, rangeId INTEGER NOT NULL,
    text TEXT NOT NULL, globalTid INTEGER NOT NULL, endGlobalTid INTEGER NOT NULL, domainId INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER NOT NULL,
    correlationId INTEGER NOT NULL, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    globalPid INTEGER NOT NULL, correlationId INTEGER NOT NULL, shortName INTEGER NOT NULL);
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'k');
INSERT INTO NVTX_EVENTS VALUES
    (100, 0, 34, 0, 'mark', (100 << 24) + 1, 0, 0),
    (100, 200, 59, 0, 'step 8', (100 << 24) + 1, 0, 0),
    (200, 300, 59, 0, 'step 9', (100 << 24) + 1, 0, 0),
    (210, 150, 59, 0, 'forward', (100 << 24) + 1, 0, 0),
    (300, 0, 59, 0, 'step 10', (100 << 24) + 1, 0, 0);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
    (120, 121, (100 << 24) + 1, 1, 1, 0), (220, 221, (100 << 24) + 1, 2, 1, 0), (320, 321, (100 << 24) + 1, 3, 1, 0);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
    (130, 135, 0, 100 << 24, 1, 2), (230, 237, 0, 100 << 24, 2, 2), (330, 340, 0, 100 << 24, 3, 2);

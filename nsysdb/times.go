package nsysdb

import "fmt"

// readTimes finds out which stretch of the events' clock was recorded, and when that clock was zero.
//
// ANALYSIS_DETAILS has a start and a stop, but on another clock: in all exports at hand events begin long before
// its start (at 22 ms where it says 456 ms), and its duration alone fits them, counted from the session's start. An
// export may have been asked to shift its times, or to count them from 1970. So each reading is held against the
// events, and the first that has room for them is taken; where none has, nothing is said.
func (db *DB) readTimes(m *Meta) error {
	said, err := db.readSession()
	if err != nil {
		return err
	}
	if !m.TimeNormalized {
		m.StartUTC = said.utc
	}
	if said.duration <= 0 {
		return nil
	}
	first, last, err := db.eventTimes()
	if err != nil {
		return err
	}
	const slack = 100e6 // ns; work on the GPU may end after the recording
	hasRoom := func(from, to int64) bool { return first >= from-slack && last <= to+slack }
	for _, from := range readings(m, said.utc) {
		if hasRoom(from, from+said.duration) {
			m.CaptureStart, m.CaptureEnd = from, from+said.duration
			if said.utc > 0 {
				m.StartUTC = said.utc - from
			}
			return nil
		}
	}
	if said.start != Null && said.stop > said.start && hasRoom(said.start, said.stop) {
		m.CaptureStart, m.CaptureEnd = said.start, said.stop
	}
	return nil
}

// A session is what an export says of its recording.
type session struct {
	utc         int64 // ns since 1970 of its start; 0 where the export does not say
	duration    int64 // ns, of the longest where there are several; 0 where the export does not say
	start, stop int64 // ns on some clock; Null where the export does not say
}

// readSession reads start and length of the recording. Values that no recording can have count as not said.
func (db *DB) readSession() (s session, err error) {
	err = db.each("TARGET_INFO_SESSION_START_TIME", []string{"utcEpochNs"}, func(r *stmt) {
		if v := within(r.int(0), maxTime); v > 0 {
			s.utc = v
		}
	})
	if err != nil {
		return s, err
	}
	err = db.each("ANALYSIS_DETAILS", []string{"duration", "startTime", "stopTime"}, func(r *stmt) {
		if d := within(r.int(0), maxTime); d > s.duration {
			s.duration, s.start, s.stop = d, within(r.int(1), maxTime), within(r.int(2), maxTime)
		}
	})
	return s, err
}

// readings are the times on the events' clock at which the session may have started, the likeliest first.
func readings(m *Meta, utc int64) []int64 {
	if m.TimeNormalized {
		return []int64{utc + m.TimeShift, utc}
	}
	return []int64{m.TimeShift, 0}
}

// eventTimes are the times of the first and last rows of the event tables: not quite the earliest and the latest,
// but known at once. Without events it gives a stretch that fits nowhere.
func (db *DB) eventTimes() (first, last int64, err error) {
	first, last = -Null-1, Null
	for _, t := range append(db.tables[:], db.nvtx) {
		at := t.col("start")
		if at < 0 || t.view || t.noRowid || t.max < t.min {
			continue
		}
		sql := fmt.Sprintf("SELECT %s FROM %s WHERE rowid IN (%d,%d)", ident(t.columns[at].name), ident(t.name), t.min, t.max)
		err := db.schema.c.query(sql, func(r *stmt) {
			if v := within(r.int(0), maxTime); v != Null {
				first, last = min(first, v), max(last, v)
			}
		})
		if err != nil {
			return 0, 0, err
		}
	}
	return first, last, nil
}

package main

import (
	"sync/atomic"
	"time"
)

// tailer is one consumer on one connection that follows every partition of the topic from its end.
type tailer struct {
	conn      *conn
	next      []int64
	seen      atomic.Int64
	latencies []time.Duration
}

// newTailer finds each partition's end by appending one record to it, which also proves the topic.
func newTailer() *tailer {
	t := &tailer{conn: dial(opt.addr)}
	for p := 0; p < opt.parts; p++ {
		t.conn.queue(produceRequest(opt.topic, p, -1, batch(make([]byte, opt.size), 1)))
		t.conn.write()
		t.next = append(t.next, t.conn.answer()+1)
	}
	return t
}

// run fetches for ever; with an origin it times the records, which then carry when they were sent.
func (t *tailer) run(origin *time.Time) {
	for {
		t.conn.queue(fetchRequest(opt.topic, 0, t.next, opt.bytesMax))
		t.conn.write()
		body := t.conn.read()
		now := time.Now()
		var fresh int64
		err := readFetched(body, func(partition int32, code int16, records []byte) {
			if code != 0 {
				die("tail of partition %d: error code %d", partition, code)
			}
			if int(partition) >= len(t.next) {
				die("tail: partition %d was not asked for", partition)
			}
			eachBatch(records, func(base int64, count int32, first []byte) {
				if base+int64(count) <= t.next[partition] {
					return // a fetch may begin before the offset asked for
				}
				if base != t.next[partition] {
					die("tail of partition %d: offset %d where %d was due", partition, base, t.next[partition])
				}
				t.next[partition] = base + int64(count)
				fresh += int64(count)
				if origin != nil {
					t.time(first, now.Sub(*origin))
				}
			})
		})
		if err != nil {
			die("tail: %v", err)
		}
		t.seen.Add(fresh)
	}
}

func (t *tailer) time(first []byte, now time.Duration) {
	stamp, err := stampOf(first)
	if err != nil {
		die("tail: %v", err)
	}
	t.latencies = append(t.latencies, now-time.Duration(stamp))
}

// waitFor ends the program when records that were acknowledged do not come: they would be lost.
func (t *tailer) waitFor(total int64) {
	for deadline := time.Now().Add(answerTimeout / 2); t.seen.Load() < total; {
		if time.Now().After(deadline) {
			die("tail: %d of %d records came", t.seen.Load(), total)
		}
		time.Sleep(time.Millisecond)
	}
	if seen := t.seen.Load(); seen != total {
		die("tail: %d records came where %d were sent", seen, total)
	}
}

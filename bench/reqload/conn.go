package main

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// coalesceFrom is the depth of pipeline from which frames share a write, so that we can fill it.
const coalesceFrom = 16

const answerTimeout = 60 * time.Second

// gate says when a load is over: by the clock, or by a number of requests.
type gate struct {
	start    time.Time
	end      time.Time
	requests int64
	taken    atomic.Int64
}

func newGate() *gate {
	start := time.Now()
	end := start.Add(time.Duration(opt.secs * float64(time.Second)))
	return &gate{start: start, end: end, requests: opt.requests}
}

func (g *gate) open() bool {
	if g.requests > 0 {
		return g.taken.Add(1) <= g.requests
	}
	return time.Now().Before(g.end)
}

// makeFrames builds a request once for every partition (produce) or partition and offset (fetch).
func makeFrames() [][]byte {
	var frames [][]byte
	value := make([]byte, opt.size)
	for i := range value {
		value[i] = 'x'
	}
	records := batch(value, opt.count)
	for p := 0; p < opt.parts; p++ {
		if opt.mode != "fetch" {
			frames = append(frames, produceRequest(opt.topic, p, opt.acks, records))
			continue
		}
		for i := int64(0); i < fetchOffsets; i++ {
			offset := []int64{i * opt.offsets / fetchOffsets}
			frames = append(frames, fetchRequest(opt.topic, p, offset, opt.bytesMax))
		}
	}
	return frames
}

// fetchOffsets is how many places of each partition a fetching client walks through.
const fetchOffsets = 64

// picker chooses the frames of one connection.
type picker struct {
	frames [][]byte
	index  int // of the connection
	turn   int
}

func (p *picker) next() []byte {
	turn := p.turn
	p.turn++
	switch {
	case opt.mode == "fetch":
		partition := p.index % opt.parts
		return p.frames[partition*fetchOffsets+(turn+p.index*7)%fetchOffsets]
	case opt.spread:
		return p.frames[(p.index+turn*(opt.conns+opt.neighbours))%len(p.frames)]
	default:
		return p.frames[p.index%len(p.frames)]
	}
}

type conn struct {
	net       net.Conn
	reader    *bufio.Reader
	buffer    []byte
	out       []byte
	sent      int32 // correlation ids: answers must come in order
	answered  int32
	latencies []time.Duration
	bytesIn   int64
	bytesOut  int64
}

func dial(addr string) *conn {
	nc, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		die("%v", err)
	}
	return &conn{net: nc, reader: bufio.NewReaderSize(nc, 16<<10)}
}

// queue appends one frame to what the next write carries.
func (c *conn) queue(frame []byte) {
	at := len(c.out)
	c.out = append(c.out, frame...)
	binary.BigEndian.PutUint32(c.out[at+correlationAt:], uint32(c.sent))
	c.sent++
}

func (c *conn) write() {
	n, err := c.net.Write(c.out)
	if err != nil {
		die("write: %v", err)
	}
	c.bytesOut += int64(n)
	c.out = c.out[:0]
}

// read returns the next response after its correlation id.
func (c *conn) read() []byte {
	var head [8]byte
	if _, err := io.ReadFull(c.reader, head[:]); err != nil {
		die("read: %v", err)
	}
	size := int(binary.BigEndian.Uint32(head[:])) - 4
	if size < 0 || size > 1<<30 {
		die("response of %d bytes", size)
	}
	if size > len(c.buffer) {
		c.buffer = make([]byte, size)
	}
	if _, err := io.ReadFull(c.reader, c.buffer[:size]); err != nil {
		die("read: %v", err)
	}
	if got := int32(binary.BigEndian.Uint32(head[4:])); got != c.answered {
		die("correlation id %d where %d was due: answers are out of order", got, c.answered)
	}
	c.answered++
	c.bytesIn += int64(size + 8)
	return c.buffer[:size]
}

// answer reads one response and ends the program unless it is one partition without an error.
func (c *conn) answer() int64 {
	body := c.read()
	partitions, offset := 0, int64(-1)
	var err error
	if opt.mode == "fetch" {
		err = readFetched(body, func(partition int32, code int16, records []byte) {
			partitions++
			if code != 0 {
				die("fetch of partition %d: error code %d", partition, code)
			}
			if len(records) == 0 {
				die("fetch of partition %d: no records", partition)
			}
		})
	} else {
		err = readProduced(body, func(partition int32, code int16, base int64) {
			partitions++
			offset = base
			if code != 0 {
				die("produce to partition %d: error code %d", partition, code)
			}
		})
	}
	if err != nil {
		die("%s: %v", opt.mode, err)
	}
	if partitions != 1 {
		die("%s: %d partitions answered where one was asked", opt.mode, partitions)
	}
	return offset
}

func (c *conn) once(p *picker, g *gate) bool {
	if !g.open() {
		return false
	}
	start := time.Now()
	c.queue(p.next())
	c.write()
	c.answer()
	c.latencies = append(c.latencies, time.Since(start))
	return true
}

func (c *conn) closedLoop(p *picker, inflight int, g *gate) {
	if inflight == 1 {
		for c.once(p, g) {
		}
		return
	}
	starts := make(chan time.Time, inflight)
	done := make(chan struct{})
	slots := make(chan struct{}, inflight)
	go func() {
		defer close(done)
		for start := range starts {
			c.answer()
			c.latencies = append(c.latencies, time.Since(start))
			<-slots
		}
	}()
	for g.open() {
		select {
		case slots <- struct{}{}:
		default: // full: what is queued must go before we wait
			c.flush()
			slots <- struct{}{}
		}
		starts <- time.Now()
		c.queue(p.next())
		if inflight < coalesceFrom || len(c.out) > 64<<10 {
			c.write()
		}
	}
	c.flush()
	close(starts)
	<-done
}

func (c *conn) flush() {
	if len(c.out) > 0 {
		c.write()
	}
}

// paced sends this connection's share of the records when they are due, whatever is answered when,
// and says how late its own timer was at most. A record carries when it was really sent.
func (c *conn) paced(index, stride int, total int64, origin time.Time) time.Duration {
	value := make([]byte, opt.size)
	var late time.Duration
	done := make(chan struct{})
	mine := (total - int64(index) + int64(stride) - 1) / int64(stride)
	go func() {
		defer close(done)
		for i := int64(0); i < mine; i++ {
			c.answer()
		}
	}()
	for i := int64(index); i < total; i += int64(stride) {
		due := time.Duration(float64(i) / opt.rate * float64(time.Second))
		time.Sleep(due - time.Since(origin))
		now := time.Since(origin)
		if now-due > late {
			late = now - due
		}
		binary.BigEndian.PutUint64(value, uint64(now))
		c.queue(produceRequest(opt.topic, int(i)%opt.parts, opt.acks, batch(value, 1)))
		c.write()
	}
	<-done
	return late
}

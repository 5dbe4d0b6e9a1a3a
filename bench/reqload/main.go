// reqload loads a broker with raw Kafka requests from one process, and checks every answer.
//
// It opens its connections, prints {"event":"ready"} and waits for a line on stdin, so that its
// caller meters the broker over exactly the time that is loaded; then it prints one JSON report and
// waits until stdin ends before it closes anything. With -now it does not wait.
//
//	reqload -mode produce|fetch|e2e|hold -addr HOST:PORT -topic T -parts P -conns C -secs S ...
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"sort"
	"sync"
	"time"
)

var opt struct {
	addr, topic, mode           string
	parts, conns, inflight      int
	size, count, acks, bytesMax int
	neighbours                  int
	requests, offsets           int64
	secs, rate                  float64
	spread, tail, now           bool
}

func flags() {
	flag.StringVar(&opt.addr, "addr", "127.0.0.1:9092", "host:port of the broker")
	flag.StringVar(&opt.topic, "topic", "orders", "the topic, which exists")
	flag.IntVar(&opt.parts, "parts", 4, "its partitions; connection i uses i modulo this")
	flag.BoolVar(&opt.spread, "spread", false, "every request of a connection goes to another partition")
	flag.IntVar(&opt.conns, "conns", 16, "connections")
	flag.IntVar(&opt.inflight, "inflight", 1, "requests a connection has in flight")
	flag.Float64Var(&opt.secs, "secs", 5, "how long")
	flag.Int64Var(&opt.requests, "requests", 0, "stop after this many requests instead of -secs")
	flag.StringVar(&opt.mode, "mode", "produce", "produce, fetch, e2e or hold")
	flag.IntVar(&opt.size, "size", 100, "bytes of a value")
	flag.IntVar(&opt.count, "count", 1, "records in a batch")
	flag.IntVar(&opt.acks, "acks", 1, "1 or -1")
	flag.IntVar(&opt.bytesMax, "max", 1<<20, "fetch: bytes of a partition")
	flag.Int64Var(&opt.offsets, "offsets", 1, "fetch: ask for offsets below this")
	flag.IntVar(&opt.neighbours, "neighbours", 0, "more connections, one in flight, reported apart")
	flag.BoolVar(&opt.tail, "tail", false, "produce: one consumer tails the whole topic")
	flag.Float64Var(&opt.rate, "rate", 2000, "e2e: records a second, whatever is answered when")
	flag.BoolVar(&opt.now, "now", false, "do not wait for stdin")
	flag.Parse()
	if opt.acks != 1 && opt.acks != -1 {
		die("acks must be 1 or -1: nothing can be counted without answers")
	}
	if opt.size < stampSize && opt.mode == "e2e" {
		die("e2e needs values of %d bytes or more", stampSize)
	}
}

func die(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "reqload: "+format+"\n", args...)
	os.Exit(1)
}

type latency struct {
	Requests int64   `json:"requests"`
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
	P999     float64 `json:"p999_ms"`
	Max      float64 `json:"max_ms"`
}

type report struct {
	Mode        string   `json:"mode"`
	Seconds     float64  `json:"seconds"`
	PerSecond   float64  `json:"per_s"`
	Records     int64    `json:"records"`
	BytesIn     int64    `json:"bytes_in"`
	BytesOut    int64    `json:"bytes_out"`
	Load        latency  `json:"load"`
	Neighbour   *latency `json:"neighbour,omitempty"`
	Tailed      int64    `json:"tailed_records,omitempty"`
	PacerLateMs float64  `json:"pacer_late_max_ms,omitempty"`
}

func summary(all []time.Duration) latency {
	if len(all) == 0 {
		return latency{}
	}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	at := func(p float64) float64 {
		return float64(all[int(p*float64(len(all)-1))].Nanoseconds()) / 1e6
	}
	return latency{int64(len(all)), at(.5), at(.99), at(.999), at(1)}
}

// stdin is how the caller says "go", and by its end that we may leave.
var stdin = bufio.NewReader(os.Stdin)

func emit(what any) {
	if err := json.NewEncoder(os.Stdout).Encode(what); err != nil {
		die("%v", err)
	}
}

func waitGo() {
	defer func() { watch(answerTimeout + time.Duration(opt.secs*float64(time.Second))) }()
	if opt.now {
		return
	}
	emit(map[string]string{"event": "ready"})
	if _, err := stdin.ReadString('\n'); err != nil {
		die("stdin ended before the load began")
	}
}

func waitEnd() {
	if !opt.now {
		_, _ = io.Copy(io.Discard, stdin)
	}
}

func open(count int) []*conn {
	var conns []*conn
	for i := 0; i < count; i++ {
		conns = append(conns, dial(opt.addr))
	}
	return conns
}

// load is the closed loop: produce or fetch.
func load() report {
	conns, neighbours := open(opt.conns), open(opt.neighbours)
	frames := makeFrames()
	var tail *tailer
	if opt.tail {
		tail = newTailer()
	}
	waitGo()
	gate := newGate()
	if tail != nil {
		go tail.run(nil)
	}
	var wg sync.WaitGroup
	run := func(group []*conn, inflight, shift int) {
		for i, c := range group {
			wg.Add(1)
			go func(c *conn, i int) {
				defer wg.Done()
				c.closedLoop(&picker{frames: frames, index: i}, inflight, gate)
			}(c, i+shift)
		}
	}
	run(conns, opt.inflight, 0)
	run(neighbours, 1, len(conns))
	wg.Wait()
	out := report{Mode: opt.mode, Seconds: time.Since(gate.start).Seconds()}
	var all, apart []time.Duration
	for _, c := range conns {
		all = append(all, c.latencies...)
		out.BytesIn += c.bytesIn
		out.BytesOut += c.bytesOut
	}
	for _, c := range neighbours {
		apart = append(apart, c.latencies...)
	}
	out.Load = summary(all)
	out.PerSecond = float64(out.Load.Requests) / out.Seconds
	if opt.mode == "produce" {
		out.Records = out.Load.Requests * int64(opt.count)
	}
	if len(neighbours) > 0 {
		seen := summary(apart)
		out.Neighbour = &seen
	}
	if tail != nil {
		tail.waitFor(int64(len(all)+len(apart)) * int64(opt.count))
		out.Tailed = tail.seen.Load()
	}
	return out
}

// endToEnd sends at a fixed rate and times each record from its sending to its fetching.
func endToEnd() report {
	conns, tail := open(opt.conns), newTailer()
	waitGo()
	origin := time.Now()
	go tail.run(&origin)
	total := int64(opt.rate * opt.secs)
	var wg sync.WaitGroup
	late := make([]time.Duration, len(conns))
	for i, c := range conns {
		wg.Add(1)
		go func(c *conn, i int) {
			defer wg.Done()
			late[i] = c.paced(i, len(conns), total, origin)
		}(c, i)
	}
	wg.Wait()
	tail.waitFor(total)
	out := report{Mode: opt.mode, Seconds: time.Since(origin).Seconds(), Records: total}
	out.Load = summary(tail.latencies)
	out.PerSecond = float64(total) / out.Seconds
	out.Tailed = tail.seen.Load()
	for _, one := range late {
		if ms := one.Seconds() * 1e3; ms > out.PacerLateMs {
			out.PacerLateMs = ms
		}
	}
	return out
}

// hold keeps connections open that each spoke once, so that what they cost at rest can be metered.
func hold() report {
	conns, frames := open(opt.conns), makeFrames()
	once := &gate{start: time.Now(), requests: int64(len(conns))}
	for i, c := range conns {
		c.once(&picker{frames: frames, index: i}, once)
	}
	waitGo()
	start := time.Now()
	time.Sleep(time.Duration(opt.secs * float64(time.Second)))
	return report{Mode: opt.mode, Seconds: time.Since(start).Seconds()}
}

// watchdog ends the program when a broker stops answering, so that no bench hangs.
var watchdog *time.Timer

func watch(allowed time.Duration) {
	if watchdog != nil {
		watchdog.Stop()
	}
	watchdog = time.AfterFunc(allowed, func() { die("no end after %v: answers are missing", allowed) })
}

func main() {
	flags()
	watch(answerTimeout)
	modes := map[string]func() report{"produce": load, "fetch": load, "e2e": endToEnd, "hold": hold}
	run, found := modes[opt.mode]
	if !found {
		die("no such mode: %s", opt.mode)
	}
	emit(run())
	watchdog.Stop()
	waitEnd()
}

package main

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"
)

// Versions stay where they are, so that figures of different days compare.
const (
	produceKey     = 0
	produceVersion = 9
	fetchKey       = 1
	fetchVersion   = 12

	correlationAt   = 8 // size, key, version come before it
	batchHeaderSize = 61
	stampSize       = 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func uv(b []byte, n uint64) []byte {
	for n >= 128 {
		b = append(b, byte(n)|128)
		n >>= 7
	}
	return append(b, byte(n))
}
func sv(b []byte, n int64) []byte  { return uv(b, uint64((n<<1)^(n>>63))) }
func i16(b []byte, n int16) []byte { return binary.BigEndian.AppendUint16(b, uint16(n)) }
func i32(b []byte, n int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(n)) }
func i64(b []byte, n int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(n)) }

// batch makes an uncompressed record batch of count equal values.
func batch(value []byte, count int) []byte {
	var recs []byte
	for i := 0; i < count; i++ {
		var r []byte
		r = append(r, 0) // attributes
		r = sv(r, 0)     // timestamp delta
		r = sv(r, int64(i))
		r = sv(r, -1) // no key
		r = sv(r, int64(len(value)))
		r = append(r, value...)
		r = sv(r, 0) // headers
		recs = sv(recs, int64(len(r)))
		recs = append(recs, r...)
	}
	var t []byte
	t = i16(t, 0)
	t = i32(t, int32(count-1))
	now := time.Now().UnixMilli()
	t = i64(t, now)
	t = i64(t, now)
	t = i64(t, -1) // producer id, epoch and sequence
	t = i16(t, -1)
	t = i32(t, -1)
	t = i32(t, int32(count))
	t = append(t, recs...)
	var b []byte
	b = i64(b, 0)
	b = i32(b, int32(len(t)+9))
	b = i32(b, -1)
	b = append(b, 2)
	b = i32(b, int32(crc32.Checksum(t, castagnoli)))
	return append(b, t...)
}

func header(key, version int16) []byte {
	b := i32(nil, 0) // size
	b = i16(b, key)
	b = i16(b, version)
	b = i32(b, 0) // correlation id
	b = i16(b, 4)
	b = append(b, "load"...)
	return append(b, 0)
}

func sealed(b []byte) []byte {
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

func produceRequest(topic string, partition int, acks int, records []byte) []byte {
	b := header(produceKey, produceVersion)
	b = append(b, 0) // transactional id
	b = i16(b, int16(acks))
	b = i32(b, 30000)
	b = uv(b, 2)
	b = uv(b, uint64(len(topic)+1))
	b = append(b, topic...)
	b = uv(b, 2)
	b = i32(b, int32(partition))
	b = uv(b, uint64(len(records)+1))
	b = append(b, records...)
	return sealed(append(b, 0, 0, 0))
}

// fetchRequest asks for the partitions first, first+1, ... at the offsets given, without a session.
func fetchRequest(topic string, first int, offsets []int64, bytesMax int) []byte {
	b := header(fetchKey, fetchVersion)
	b = i32(b, -1)  // replica
	b = i32(b, 500) // max wait
	b = i32(b, 1)   // min bytes
	b = i32(b, 50<<20)
	b = append(b, 0) // isolation
	b = i32(b, 0)
	b = i32(b, -1) // session id and epoch
	b = uv(b, 2)
	b = uv(b, uint64(len(topic)+1))
	b = append(b, topic...)
	b = uv(b, uint64(len(offsets)+1))
	for i, offset := range offsets {
		b = i32(b, int32(first+i))
		b = i32(b, -1) // leader epoch
		b = i64(b, offset)
		b = i32(b, -1) // last fetched epoch
		b = i64(b, -1) // log start
		b = i32(b, int32(bytesMax))
		b = append(b, 0)
	}
	b = append(b, 0)
	b = uv(b, 1)     // forgotten topics
	b = append(b, 1) // rack
	return sealed(append(b, 0))
}

var errShort = errors.New("response ends too early")

// reader walks a response; the first overrun sticks, and every later read answers zero.
type reader struct {
	b   []byte
	at  int
	err error
}

func (r *reader) take(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.b)-r.at {
		r.err = errShort
		return nil
	}
	r.at += n
	return r.b[r.at-n : r.at]
}

func (r *reader) i16() int16 {
	if b := r.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *reader) i32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) i64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	n, size := binary.Uvarint(r.b[r.at:])
	if size <= 0 {
		r.err = errShort
		return 0
	}
	r.at += size
	return n
}

// compact is the length of a compact string, byte field or array; null counts as empty.
func (r *reader) compact() int {
	if n := r.uvarint(); n > 0 {
		return int(n - 1)
	}
	return 0
}

func (r *reader) tags() {
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		r.uvarint()
		r.take(int(r.uvarint()))
	}
}

// readProduced calls visit for every partition of a Produce response (without its correlation id).
func readProduced(b []byte, visit func(partition int32, code int16, base int64)) error {
	r := &reader{b: b}
	r.tags()
	for topics := r.compact(); topics > 0 && r.err == nil; topics-- {
		r.take(r.compact())
		for partitions := r.compact(); partitions > 0 && r.err == nil; partitions-- {
			partition, code, base := r.i32(), r.i16(), r.i64()
			r.take(16) // append time, log start
			for errs := r.compact(); errs > 0 && r.err == nil; errs-- {
				r.i32()
				r.take(r.compact())
				r.tags()
			}
			r.take(r.compact()) // message
			r.tags()
			if r.err == nil {
				visit(partition, code, base)
			}
		}
		r.tags()
	}
	r.i32() // throttle
	r.tags()
	return r.err
}

// readFetched calls visit for every partition of a Fetch response (without its correlation id).
func readFetched(b []byte, visit func(partition int32, code int16, records []byte)) error {
	r := &reader{b: b}
	r.tags()
	r.i32() // throttle
	if code := r.i16(); code != 0 {
		visit(-1, code, nil)
	}
	r.i32() // session
	for topics := r.compact(); topics > 0 && r.err == nil; topics-- {
		r.take(r.compact())
		for partitions := r.compact(); partitions > 0 && r.err == nil; partitions-- {
			partition, code := r.i32(), r.i16()
			r.take(24) // high watermark, last stable offset, log start
			for aborted := r.compact(); aborted > 0 && r.err == nil; aborted-- {
				r.take(16)
				r.tags()
			}
			r.i32() // preferred replica
			records := r.take(r.compact())
			r.tags()
			if r.err == nil {
				visit(partition, code, records)
			}
		}
		r.tags()
	}
	r.tags()
	return r.err
}

// eachBatch calls visit for the batches that came whole; a cut one at the end is the protocol's way.
func eachBatch(records []byte, visit func(base int64, count int32, first []byte)) {
	for len(records) >= batchHeaderSize {
		size := int(binary.BigEndian.Uint32(records[8:])) + 12
		if size > len(records) {
			return
		}
		base := int64(binary.BigEndian.Uint64(records))
		last := int32(binary.BigEndian.Uint32(records[23:]))
		visit(base, last+1, records[batchHeaderSize:size])
		records = records[size:]
	}
}

// stampOf finds the eight bytes that begin the value of the first record.
func stampOf(first []byte) (int64, error) {
	r := &reader{b: first}
	r.uvarint() // length
	r.take(1)   // attributes
	r.uvarint() // timestamp delta
	r.uvarint() // offset delta
	r.uvarint() // key: none
	r.uvarint() // value length
	return r.i64(), r.err
}

package verify

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tofureg/tofureg/failure"
)

// The OpenPGP library parses embedded signatures recursively, keeps up to 60 bytes for each byte that
// it reads, and reads what follows the last field of a packet as the next packet. So packets are
// walked here first, without recursion, and the library gets them one by one.

// Packet types (RFC 9580, section 5).
const (
	typeSignature     = 2
	typePrivateKey    = 5
	typePublicKey     = 6
	typePrivateSubkey = 7
	typeMarker        = 10
	typeTrust         = 12
	typeUserID        = 13
	typePublicSubkey  = 14
	typeUserAttribute = 17
	typePadding       = 21
	typeNonCritical   = 40 // and above
)

const (
	sigSubkeyBinding     = 0x18
	sigPrimaryKeyBinding = 0x19

	subpacketEmbeddedSignature = 32
)

// The maximum sizes of packets in bytes. Only signatures of SLH-DSA, of up to 29,792 bytes, are larger
// than 8 KiB, and one may embed another one. GnuPG allows 2,048 bytes for a user ID.
const (
	maxSignaturePacket = 16 << 10
	maxSLHDSAPacket    = 64 << 10
	maxKeyPacket       = 8 << 10
	maxUserID          = 2 << 10
)

// maxMemory bounds the memory, in bytes, that the library needs for the keys and signatures of a call.
const maxMemory = 24 << 20

// What the library needs at most, in bytes: for a packet, for a byte in it, and for a subpacket.
// Keys of ML-DSA are expanded to matrices.
const (
	packetMemory    = 2 << 10
	byteMemory      = 4
	keyByteMemory   = 32
	subpacketMemory = 128
)

// budget is what the keys and signatures of one call may still cost.
type budget struct {
	memory        int // in bytes
	verifications int
}

func newBudget() *budget { return &budget{memory: maxMemory, verifications: maxVerifications} }

// take takes bytes of memory from b.
func (b *budget) take(bytes int) error {
	if b.memory -= bytes; b.memory < 0 {
		return fmt.Errorf("keys and signatures %w: more than %d bytes of memory are needed to read them", failure.ErrTooLarge, maxMemory)
	}
	return nil
}

var errTruncated = errors.New("truncated packet")

// rawPacket is an OpenPGP packet without its header.
type rawPacket struct {
	typ  byte
	body []byte
}

// nextPacket returns the first packet of data, which must not be empty, and what follows it.
func nextPacket(data []byte) (p rawPacket, rest []byte, err error) {
	head := data[0]
	data = data[1:]
	if head&0x80 == 0 {
		return p, nil, fmt.Errorf("byte 0x%02x in place of a packet", head)
	}
	if head&0x40 == 0 { // the format of RFC 1991
		p.typ = head >> 2 & 0xf
		size := 1 << (head & 3)
		if size == 8 { // up to the end
			p.body = data
			return p, nil, nil
		}
		if len(data) < size {
			return p, nil, errTruncated
		}
		var length [4]byte
		copy(length[4-size:], data)
		p.body, rest, err = cut(data[size:], binary.BigEndian.Uint32(length[:]))
		return p, rest, err
	}
	p.typ = head & 0x3f
	for partial := true; partial; {
		if len(data) == 0 {
			return p, nil, errTruncated
		}
		var n uint32
		if partial = data[0] >= 224 && data[0] < 255; partial {
			n, data = 1<<(data[0]&0x1f), data[1:]
		} else if n, data, err = length(data); err != nil {
			return p, nil, err
		}
		var part []byte
		if part, data, err = cut(data, n); err != nil {
			return p, nil, err
		}
		if p.body == nil {
			p.body = part
		} else {
			p.body = append(p.body, part...)
		}
	}
	return p, data, nil
}

// length reads a length of one, two or five bytes, as subpackets have it. Packets differ only in
// the bytes from 224 to 254.
func length(data []byte) (n uint32, rest []byte, err error) {
	switch {
	case len(data) > 0 && data[0] < 192:
		return uint32(data[0]), data[1:], nil
	case len(data) > 1 && data[0] < 255:
		return uint32(data[0]-192)<<8 + uint32(data[1]) + 192, data[2:], nil
	case len(data) > 4 && data[0] == 255:
		return binary.BigEndian.Uint32(data[1:]), data[5:], nil
	}
	return 0, nil, errTruncated
}

// cut returns the first n bytes of data, so that appending to them copies them, and the rest.
func cut(data []byte, n uint32) (first, rest []byte, err error) {
	if uint64(n) > uint64(len(data)) {
		return nil, nil, errTruncated
	}
	return data[:n:n], data[n:], nil
}

// framed returns p with a header.
func (p rawPacket) framed() []byte {
	data := make([]byte, 0, 6+len(p.body))
	data = append(data, 0xc0|p.typ, 255)
	data = binary.BigEndian.AppendUint32(data, uint32(len(p.body)))
	return append(data, p.body...)
}

// rawKey holds the packets of one primary key.
type rawKey struct {
	packets []rawPacket
	err     error // why it is refused, if it is
}

// walkKeys splits data into primary keys with the packets that the library needs of each.
func walkKeys(data []byte, b *budget) (keys []rawKey, err error) {
	for len(data) > 0 {
		var p rawPacket
		if p, data, err = nextPacket(data); err != nil {
			return nil, err
		}
		keep := true
		switch p.typ {
		case typePublicKey:
			keys = append(keys, rawKey{})
		case typePublicSubkey, typeUserID, typeSignature:
		case typeUserAttribute:
			p.body = nil // an image; what follows it must not seem to follow another packet
		case typePrivateKey, typePrivateSubkey:
			return nil, errors.New("the block holds a private key")
		case typeMarker, typeTrust, typePadding:
			keep = false
		default:
			if p.typ < typeNonCritical {
				return nil, fmt.Errorf("packet of type %d in a key", p.typ)
			}
			keep = false
		}
		if !keep || len(keys) == 0 {
			continue
		}
		key := &keys[len(keys)-1]
		if key.err != nil {
			continue
		}
		var memory int
		if memory, key.err = p.inspect(); key.err != nil || memory == 0 {
			continue
		}
		if err := b.take(memory); err != nil {
			return nil, err
		}
		key.packets = append(key.packets, p)
	}
	return keys, nil
}

// inspect returns the memory that the library needs for p, or an error if p is refused. It returns
// 0 if the library does not support p.
func (p rawPacket) inspect() (memory int, err error) {
	limit := 0
	memory = packetMemory + byteMemory*len(p.body)
	switch p.typ {
	case typeSignature:
		return p.inspectSignature()
	case typePublicKey, typePublicSubkey:
		limit, memory = maxKeyPacket, packetMemory+keyByteMemory*len(p.body)
	case typeUserID:
		limit = maxUserID
	}
	if len(p.body) > limit {
		return 0, fmt.Errorf("packet of type %d %w: %d bytes, %d are allowed", p.typ, failure.ErrTooLarge, len(p.body), limit)
	}
	return memory, nil
}

// inspectSignature is inspect for a signature. Only the binding of a subkey may embed a signature,
// by which the subkey agrees.
func (p rawPacket) inspectSignature() (memory int, err error) {
	memory = packetMemory + byteMemory*len(p.body)
	for body, embedded := p.body, false; body != nil; embedded = true {
		s, ok, err := readSignatureHead(body)
		if err != nil || !ok {
			return 0, err
		}
		if embedded && s.typ != sigPrimaryKeyBinding {
			return 0, fmt.Errorf("embedded signature of type 0x%02x", s.typ)
		}
		var inner []byte
		for _, area := range [][]byte{s.hashed, s.unhashed} {
			for len(area) > 0 {
				var n uint32
				var subpacket []byte
				if n, area, err = length(area); err == nil {
					subpacket, area, err = cut(area, n)
				}
				if err != nil || n == 0 {
					return 0, errors.New("truncated subpacket")
				}
				memory += subpacketMemory
				if subpacket[0]&0x7f != subpacketEmbeddedSignature {
					continue
				}
				if embedded || inner != nil || s.typ != sigSubkeyBinding {
					return 0, fmt.Errorf("embedded signature in a signature of type 0x%02x", s.typ)
				}
				inner = subpacket[1:]
				memory += packetMemory
			}
		}
		if size, limit := len(body)-len(inner), s.limit(); size > limit {
			return 0, fmt.Errorf("signature packet %w: %d bytes, %d are allowed", failure.ErrTooLarge, size, limit)
		}
		body = inner
	}
	return memory, nil
}

// signatureHead is what a signature packet starts with.
type signatureHead struct {
	typ, algorithm   byte
	hashed, unhashed []byte // subpackets
}

// readSignatureHead reads the head of a signature. ok is false for versions that the library does
// not support.
func readSignatureHead(body []byte) (s signatureHead, ok bool, err error) {
	size := 0 // of the lengths of subpackets
	switch {
	case len(body) == 0:
		return s, false, errTruncated
	case body[0] == 4:
		size = 2
	case body[0] == 6:
		size = 4
	default:
		return s, false, nil
	}
	if len(body) < 4 {
		return s, false, errTruncated
	}
	s.typ, s.algorithm = body[1], body[2]
	rest := body[4:]
	for _, area := range []*[]byte{&s.hashed, &s.unhashed} {
		if len(rest) < size {
			return s, false, errTruncated
		}
		var n [4]byte
		copy(n[4-size:], rest)
		if *area, rest, err = cut(rest[size:], binary.BigEndian.Uint32(n[:])); err != nil {
			return s, false, err
		}
	}
	return s, true, nil
}

// limit returns the maximum size of the packet in bytes.
func (s signatureHead) limit() int {
	const firstSLHDSA, lastSLHDSA = 32, 34
	if s.algorithm >= firstSLHDSA && s.algorithm <= lastSLHDSA {
		return maxSLHDSAPacket
	}
	return maxSignaturePacket
}

package verify

import (
	"errors"
	"fmt"

	"golang.org/x/crypto/cryptobyte"

	"github.com/tofureg/tofureg/failure"
)

// The OpenPGP library parses embedded signatures recursively, keeps up to 60 bytes for each byte that
// it reads, and reads what follows the last field of a packet as the next packet. So packets are
// walked here first, with at most one level of embedded signatures, and the library gets them one by one.

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

// The maximum sizes of packets in bytes. Signatures of SLH-DSA have up to 29,792 bytes, and one may embed
// another one. GnuPG allows 2,048 bytes for a user ID.
const (
	maxSignaturePacket = 64 << 10
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
	body cryptobyte.String
}

// nextPacket reads the first packet of data, which must not be empty.
func nextPacket(data *cryptobyte.String) (p rawPacket, err error) {
	var head uint8
	data.ReadUint8(&head)
	if head&0x80 == 0 {
		return p, fmt.Errorf("byte 0x%02x in place of a packet", head)
	}
	ok := true
	if head&0x40 != 0 {
		p.typ = head & 0x3f
		ok = readParts(data, &p.body)
	} else { // the format of RFC 1991
		p.typ = head >> 2 & 0xf
		switch head & 3 {
		case 0:
			ok = data.ReadUint8LengthPrefixed(&p.body)
		case 1:
			ok = data.ReadUint16LengthPrefixed(&p.body)
		case 2:
			ok = readLong(data, &p.body)
		case 3: // up to the end
			p.body, *data = *data, nil
		}
	}
	if !ok {
		return p, errTruncated
	}
	return p, nil
}

// readParts reads a body in any number of parts. The lengths of all parts except the last one are powers of two.
func readParts(data, body *cryptobyte.String) bool {
	var parts []byte
	for !data.Empty() && 224 <= (*data)[0] && (*data)[0] < 255 {
		var part []byte
		size := 1 << ((*data)[0] & 0x1f)
		if !data.Skip(1) || !data.ReadBytes(&part, size) {
			return false
		}
		parts = append(parts, part...)
	}
	if !readSized(data, body) {
		return false
	}
	if parts != nil {
		*body = append(parts, *body...)
	}
	return true
}

// readSized reads a length of one, two or five bytes, and that many bytes.
func readSized(data, body *cryptobyte.String) bool {
	var first, second uint8
	if !data.ReadUint8(&first) {
		return false
	}
	size := int(first)
	switch {
	case first == 255:
		return readLong(data, body)
	case first >= 192:
		if !data.ReadUint8(&second) {
			return false
		}
		size = int(first-192)<<8 + int(second) + 192
	}
	return data.ReadBytes((*[]byte)(body), size)
}

// readLong reads a length of four bytes, and that many bytes.
func readLong(data, body *cryptobyte.String) bool {
	var size uint32
	return data.ReadUint32(&size) && uint64(size) <= uint64(len(*data)) && data.ReadBytes((*[]byte)(body), int(size))
}

// rawKey holds the packets of one primary key.
type rawKey struct {
	packets []rawPacket
	err     error // why it is refused, if it is
}

// walkKeys splits data into primary keys with the packets that the library needs of each.
func walkKeys(data []byte, b *budget) (keys []rawKey, err error) {
	for rest := cryptobyte.String(data); !rest.Empty(); {
		p, err := nextPacket(&rest)
		if err != nil {
			return nil, err
		}
		switch p.typ {
		case typePublicKey:
			keys = append(keys, rawKey{})
		case typePublicSubkey, typeUserID, typeSignature:
		case typeUserAttribute:
			p.body = nil // an image; what follows it must not seem to follow another packet
		case typePrivateKey, typePrivateSubkey:
			return nil, errors.New("the block holds a private key")
		case typeMarker, typeTrust, typePadding:
			continue
		default:
			if p.typ >= typeNonCritical {
				continue
			}
			return nil, fmt.Errorf("packet of type %d in a key", p.typ)
		}
		if len(keys) == 0 || keys[len(keys)-1].err != nil {
			continue
		}
		key := &keys[len(keys)-1]
		memory, err := p.inspect()
		key.err = err
		if memory == 0 {
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
	limit, each := 0, byteMemory
	switch p.typ {
	case typeSignature:
		limit = maxSignaturePacket
	case typePublicKey, typePublicSubkey:
		limit, each = maxKeyPacket, keyByteMemory
	case typeUserID:
		limit = maxUserID
	}
	if len(p.body) > limit {
		return 0, fmt.Errorf("packet of type %d %w: %d bytes, %d are allowed", p.typ, failure.ErrTooLarge, len(p.body), limit)
	}
	memory = packetMemory
	if p.typ == typeSignature {
		if memory, err = inspectSignature(p.body, false); memory == 0 {
			return 0, err
		}
	}
	return memory + each*len(p.body), nil
}

// inspectSignature is inspect for a signature, without the memory for its bytes. Only the binding of a subkey
// may embed a signature, by which the subkey agrees.
func inspectSignature(s cryptobyte.String, embedded bool) (memory int, err error) {
	var version, typ uint8
	if !s.ReadUint8(&version) {
		return 0, errTruncated
	}
	var hashed, unhashed cryptobyte.String // subpackets
	ok := false
	switch version {
	case 4:
		ok = s.ReadUint8(&typ) && s.Skip(2) && s.ReadUint16LengthPrefixed(&hashed) && s.ReadUint16LengthPrefixed(&unhashed)
	case 6:
		ok = s.ReadUint8(&typ) && s.Skip(2) && readLong(&s, &hashed) && readLong(&s, &unhashed)
	default:
		return 0, nil
	}
	switch {
	case !ok:
		return 0, errTruncated
	case embedded && typ != sigPrimaryKeyBinding:
		return 0, fmt.Errorf("embedded signature of type 0x%02x", typ)
	}
	memory = packetMemory
	var inner cryptobyte.String
	for _, area := range []cryptobyte.String{hashed, unhashed} {
		for !area.Empty() {
			var subpacket cryptobyte.String
			var kind uint8
			if !readSized(&area, &subpacket) || !subpacket.ReadUint8(&kind) {
				return 0, errors.New("truncated subpacket")
			}
			memory += subpacketMemory
			if kind&0x7f != subpacketEmbeddedSignature {
				continue
			}
			if embedded || inner != nil || typ != sigSubkeyBinding {
				return 0, fmt.Errorf("embedded signature in a signature of type 0x%02x", typ)
			}
			inner = subpacket
		}
	}
	if inner == nil {
		return memory, nil
	}
	more, err := inspectSignature(inner, true)
	if err != nil || more == 0 {
		return 0, err
	}
	return memory + more, nil
}

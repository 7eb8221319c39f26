package verify_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/tofureg/tofureg/verify"
)

// TestSignatureSubpacketsMemory: a signature of 12 bytes that states 4 GiB of subpackets takes no memory.
// Older versions of go-crypto than 1.5.1 allocate the 4 GiB. The test measures, so it is not parallel.
func TestSignatureSubpacketsMemory(t *testing.T) {
	key := gpgKey(t, "ed25519")
	sig := []byte{0xc2, 10, 6, 0, 27, 8, 0xff, 0xff, 0xff, 0xff, 0, 0} // version 6, Ed25519, SHA-256
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := verify.CheckSignature([]byte("x"), sig, []verify.Key{key}, time.Now())
	runtime.ReadMemStats(&after)
	if err == nil {
		t.Error("CheckSignature accepted a cut signature")
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
		t.Errorf("CheckSignature allocated %d bytes for a signature of %d bytes, want less than 64 MiB", used, len(sig))
	}
}

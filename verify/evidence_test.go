package verify_test

import (
	"encoding/json"
	"testing"

	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestEvidenceMembers: stored evidence has the names that other stored values have, and
// what is not there is left out.
func TestEvidenceMembers(t *testing.T) {
	t.Parallel()
	for want, ev := range map[string]verify.Evidence{
		`{}`: {},
		`{"filename":"a.zip","size":3,"hashes":["h9:x"],"sums":"AQ==","signature":"Ag==","keys":[{"armor":"B"}],"want":"a_1_b_c"}`: {
			Filename: "a.zip", Size: 3, Hashes: []checksum.Hash{checksum.MustParseHash("h9:x")},
			Sums: []byte{1}, Signature: []byte{2}, Keys: []verify.Key{{Armor: "B"}}, Want: "a_1_b_c",
		},
	} {
		if data, err := json.Marshal(ev); err != nil || string(data) != want {
			t.Errorf("%s, %v, want %s", data, err, want)
		}
	}
}

package verify_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// published returns what a registry serves for a package. Programs get it from package
// regclient.
func published() (archive []byte, ev verify.Evidence) {
	read := func(name string) []byte {
		data, err := os.ReadFile("testdata/gpg/" + name)
		if err != nil {
			panic(err)
		}
		return data
	}
	return read("package.zip"), verify.Evidence{
		Filename:  "terraform-provider-test_1.2.3_linux_s390x.zip",
		Requested: "test_1.2.3_linux_s390x",
		Sums:      read("SHA256SUMS"),
		Signature: read("ed25519.sig"),
		Keys:      []verify.Key{{Armor: string(read("ed25519.asc"))}},
	}
}

// Check verifies a file. Other users must not be able to write to the file.
func ExamplePolicy_Check() {
	_, ev := published()
	file, err := os.Open("testdata/gpg/package.zip")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		log.Fatal(err)
	}

	report, err := verify.Policy{}.Check(context.Background(), ev, file, info.Size())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Trust, "by", report.SignedBy.UserID)
	fmt.Println(report.Local[0])
	fmt.Println(len(report.Recordable()), "hashes for the lock file")
	// Output:
	// signed by ed25519 <ed25519@example.com>
	// zh:647b8d3036a8851a8ae72afcd1fcc1deeefa73945d6a3a3ee2de1fbfc48e0b5d
	// 12 hashes for the lock file
}

// The fingerprint of a publisher proves who signed. Here the second policy expects another
// key.
func ExamplePolicy_pinned() {
	archive, ev := published()
	for _, fingerprint := range []string{
		"F560 0853 8EE1 156E 879B  0B93 73FA 480B C6B6 25A8",
		"0123456789ABCDEF0123456789ABCDEF01234567",
	} {
		pinned, err := verify.ParseFingerprints(fingerprint)
		if err != nil {
			log.Fatal(err)
		}
		policy := verify.Policy{Fingerprints: pinned}
		report, err := policy.Check(context.Background(), ev, bytes.NewReader(archive), int64(len(archive)))
		if err != nil {
			fmt.Println("refused:", errors.Is(err, verify.ErrUnknownKey))
			continue
		}
		fmt.Println(report.Trust, "by", report.SignedBy.Fingerprint)
	}
	// Output:
	// signed by F56008538EE1156E879B0B9373FA480BC6B625A8
	// refused: true
}

// With a lock file the package must have one of its hashes. A signature does not replace the
// hash.
func ExamplePolicy_locked() {
	archive, ev := published()
	for _, locked := range []string{
		"h1:AUwHvwMkbW044RPLg6uCx8WsVu6HNXpUPqnucKzl6w0=",
		"h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
	} {
		policy := verify.Policy{Accept: checksum.NewSet(checksum.MustParseHash(locked))}
		report, err := policy.Check(context.Background(), ev, bytes.NewReader(archive), int64(len(archive)))
		var mismatch *checksum.MismatchError
		if errors.As(err, &mismatch) {
			fmt.Println("refused:", errors.Is(err, verify.ErrNotAccepted), len(mismatch.Got), "hashes were computed")
			continue
		}
		fmt.Println(report.Trust, err)
	}
	// Output:
	// accepted <nil>
	// refused: true 3 hashes were computed
}

// A network mirror states hashes without a signature.
func ExamplePolicy_mirror() {
	archive, ev := published()
	stated, err := checksum.ZH(context.Background(), bytes.NewReader(archive))
	if err != nil {
		log.Fatal(err)
	}
	ev = verify.Evidence{Hashes: []checksum.Hash{stated}}

	_, err = verify.Policy{}.Check(context.Background(), ev, bytes.NewReader(archive), int64(len(archive)))
	fmt.Println(err)
	report, err := verify.Policy{AllowUnsigned: true}.Check(context.Background(), ev, bytes.NewReader(archive), int64(len(archive)))
	fmt.Println(report.Trust, err)
	// Output:
	// package is not signed: the source has no SHA256SUMS document; set Policy.AllowUnsigned to accept the hashes that the source states
	// checked <nil>
}

func ExampleCheckSignature() {
	_, ev := published()
	signature, err := verify.CheckSignature(ev.Sums, ev.Signature, ev.Keys, time.Now())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(signature.Algorithm, signature.Hash, signature.Created.Format(time.DateOnly), signature.KeyExpired)
	// Output: Ed25519 SHA-256 2020-06-01 false
}

func ExampleParseSums() {
	_, ev := published()
	sums, err := verify.ParseSums(ev.Sums)
	if err != nil {
		log.Fatal(err)
	}
	hash, ok := sums.Lookup("terraform-provider-test_1.2.3_linux_s390x.zip")
	fmt.Println(hash, ok)
	// Output: zh:647b8d3036a8851a8ae72afcd1fcc1deeefa73945d6a3a3ee2de1fbfc48e0b5d true
}

func ExampleKey_Info() {
	_, ev := published()
	infos, err := ev.Keys[0].Info()
	if err != nil {
		log.Fatal(err)
	}
	for _, k := range infos {
		fmt.Println(k.Algorithm, k.UserIDs, k.Created.Year(), k.Expires.IsZero(), len(k.Fingerprint))
	}
	// Output: Ed25519 [ed25519 <ed25519@example.com>] 2020 true 40
}

// An installer hashes an archive while it arrives, and unpacks it only if the policy accepts the bytes.
func ExampleExamination() {
	archive, ev := published()
	ctx, policy := context.Background(), verify.Policy{}
	if err := policy.JudgeOffer(ctx, ev, len(ev.Sums) > 0, len(ev.Signature) > 0); err != nil {
		log.Fatal(err) // no download is needed
	}
	var digester checksum.Digester
	if _, err := digester.ReadFrom(bytes.NewReader(archive)); err != nil { // or io.Copy to a file and the Digester
		log.Fatal(err)
	}
	x := policy.Examine(ev)
	needsH1, err := x.Archive(ctx, digester.Digests())
	if err != nil {
		log.Fatal(err)
	}
	if needsH1 { // here, the signed zh decides
		packed, tree, err := checksum.H1Zip(ctx, bytes.NewReader(archive), int64(len(archive)), policy.Limits)
		if err != nil {
			log.Fatal(err)
		}
		if err := x.H1(ctx, packed, tree); err != nil {
			log.Fatal(err)
		}
	}
	report, err := x.Report()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Trust, needsH1, digester.Digests().ZH() == report.Local[0])
	// Output: signed false true
}

// The document of a version is checked once, for all platforms.
func ExamplePolicy_CheckSums() {
	_, ev := published()
	checked, err := verify.Policy{}.CheckSums(ev)
	if err != nil {
		log.Fatal(err)
	}
	for name, hash := range checked.Sums().All() {
		fmt.Println(name, hash.Value()[:8])
		break
	}
	fmt.Println(checked.SignedBy().UserID)
	// Output:
	// terraform-provider-test_1.2.1_linux_amd64.zip 00000000
	// ed25519 <ed25519@example.com>
}

// A directory must have an h1 of the lock file.
func ExamplePolicy_JudgeDirectory() {
	h1, err := checksum.H1Dir(context.Background(), os.DirFS("testdata/gpg")) // a plugin directory
	if err != nil {
		log.Fatal(err)
	}
	locked := checksum.NewSet(checksum.MustParseHash("h1:AUwHvwMkbW044RPLg6uCx8WsVu6HNXpUPqnucKzl6w0="))
	_, err = verify.Policy{Accept: locked}.JudgeDirectory(verify.Evidence{}, h1)
	fmt.Println(errors.Is(err, verify.ErrNotAccepted))
	// Output: true
}

// A policy with the keys of a publisher, whatever a registry lists. A program checks its settings once.
func ExampleNewKeySet() {
	archive, ev := published()
	policy := verify.Policy{Keys: verify.NewKeySet(ev.Keys...)}
	if err := policy.Validate(); err != nil {
		log.Fatal(err)
	}
	ev.Keys = nil // the registry lists no keys
	report, err := policy.Check(context.Background(), ev, bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Trust, "by one of", len(policy.Keys.Keys()), report.SignedBy.Pinned)
	// Output: signed by one of 1 true
}

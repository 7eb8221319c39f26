package attest_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/contrib/attest"
	"github.com/tofureg/tofureg/contrib/attest/internal/attesttest"
	"github.com/tofureg/tofureg/contrib/attest/internal/must"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestVerify: a valid bundle of the expected builder is accepted, and each other one is refused for its reason.
func TestVerify(t *testing.T) {
	t.Parallel()
	const noMatch = "does not match"
	for name, test := range map[string]struct {
		*attestation
		is   error
		text string // part of the error; empty: accepted
	}{
		"good":             {good(), nil, ""},
		"of several files": {with(func(a *attestation) { a.Subjects = []checksum.Hash{other, archive} }), nil, ""},
		"older provenance": {with(func(a *attestation) { a.Predicate = "https://slsa.dev/provenance/v0.2" }), nil, ""},
		"repository in capitals": {with(func(a *attestation) {
			a.Repository = "https://github.com/ACME/Terraform-Provider-Demo"
		}), nil, ""},
		"another workflow is not compared":              {with(func(a *attestation) { a.Workflow = ".github/workflows/other.yml" }), nil, ""},
		"no promise of the log, but a signed timestamp": {with(func(a *attestation) { a.NoPromise = true }), nil, ""},
		"no signed timestamp, but a promise":            {with(func(a *attestation) { a.NoTimestamp = true }), nil, ""},

		"another digest": {with(func(a *attestation) { a.Subjects = []checksum.Hash{other} }), nil, noMatch},
		"no digest":      {with(func(a *attestation) { a.Subjects = nil }), nil, noMatch},
		"another repository": {with(func(a *attestation) { a.Repository = "https://github.com/evil/terraform-provider-demo" }),
			attest.ErrIdentity, `repository "https://github.com/evil/terraform-provider-demo"`},
		"a repository with the name as its prefix": {with(func(a *attestation) { a.Repository += "-evil" }), attest.ErrIdentity, "repository"},
		"another ref":     {with(func(a *attestation) { a.Ref = "refs/heads/main" }), attest.ErrIdentity, `ref "refs/heads/main", want "refs/tags/v1.2.0"`},
		"another version": {with(func(a *attestation) { a.Ref = "refs/tags/v1.1.0" }), attest.ErrIdentity, "ref"},
		"another issuer": {with(func(a *attestation) { a.Issuer = "https://token.example.com" }),
			attest.ErrIdentity, `issuer "https://token.example.com"`},
		"release attestation":                   {with(func(a *attestation) { a.Predicate = "https://in-toto.io/attestation/release/v0.1" }), nil, "not SLSA provenance"},
		"predicate with the type as its prefix": {with(func(a *attestation) { a.Predicate += ".evil" }), nil, "not SLSA provenance"},
		"no SCT":                                {with(func(a *attestation) { a.NoSCT = true }), nil, "signed certificate timestamp"},
		"no log entry":                          {with(func(a *attestation) { a.NoLog = true }), nil, "log"},
		"no time":                               {with(func(a *attestation) { a.NoPromise, a.NoTimestamp = true, true }), nil, "timestamp"},
		"after the expiry":                      {with(func(a *attestation) { a.Late = true }), nil, "certificate"},
		"statement is no JSON":                  {with(func(a *attestation) { a.Payload = "{" }), nil, "statement"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			by, err := builder(verifier(), sigstore().Bundle(test.attestation))
			if test.text != "" {
				if err == nil || !strings.Contains(err.Error(), test.text) || test.is != nil && !errors.Is(err, test.is) {
					t.Errorf("Builder: %v, %v, want an error with %q", by, err, test.text)
				}
				return
			}
			if err != nil {
				t.Fatalf("Builder: %v", err)
			}
			if by.Time.IsZero() || time.Since(by.Time).Abs() > time.Hour {
				t.Errorf("time of the build: %v, want about now", by.Time)
			}
			by.Time = time.Time{}
			want := verify.Build{
				Issuer: attest.GitHubIssuer, Repository: test.Repository, Ref: "refs/tags/v1.2.0",
				Commit: "0123456789abcdef0123456789abcdef01234567", Workflow: test.WorkflowURL(),
			}
			if by != want {
				t.Errorf("Builder: %+v\nwant %+v", by, want)
			}
		})
	}
}

// TestOtherInstance: a bundle of another Sigstore instance is not valid, whatever it says.
func TestOtherInstance(t *testing.T) {
	t.Parallel()
	if by, err := builder(verifier(), newInstance().Bundle(good())); err == nil {
		t.Errorf("Builder with the root of another instance: %+v, want an error", by)
	}
}

// TestIdentity: workflow and ref are compared as the caller wants.
func TestIdentity(t *testing.T) {
	t.Parallel()
	const release = ".github/workflows/release.yml"
	for name, test := range map[string]struct {
		want attest.Identity // without issuer and repository
		*attestation
		ok bool
	}{
		"workflow":         {attest.Identity{Workflow: release}, good(), true},
		"another workflow": {attest.Identity{Workflow: release}, with(func(a *attestation) { a.Workflow = ".github/workflows/ci.yml" }), false},
		"workflow with the name as its prefix": {attest.Identity{Workflow: release},
			with(func(a *attestation) { a.Workflow = release + "@x.yml" }), false},
		"URL of the workflow":            {attest.Identity{Workflow: repository + "/" + release}, good(), true},
		"URL of the workflow with a ref": {attest.Identity{Workflow: repository + "/" + release + "@refs/tags/v1.2.0"}, good(), false},
		"URL of a reusable workflow":     {attest.Identity{Workflow: "https://github.com/acme/ci/" + release}, good(), false},
		"any ref":                        {attest.Identity{}, with(func(a *attestation) { a.Ref = "refs/heads/main" }), true},
		"pattern":                        {attest.Identity{Ref: "refs/heads/release-*"}, with(func(a *attestation) { a.Ref = "refs/heads/release-7" }), true},
		"pattern without a slash":        {attest.Identity{Ref: "refs/heads/*"}, with(func(a *attestation) { a.Ref = "refs/heads/a/b" }), false},
		"invalid pattern":                {attest.Identity{Ref: "["}, with(func(a *attestation) { a.Ref = "[" }), false},
		"version in the middle":          {attest.Identity{Ref: "refs/tags/demo/v{version}"}, with(func(a *attestation) { a.Ref = "refs/tags/demo/v1.2.0" }), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := verifier()
			v.Rule = func(addrs.Provider) attest.Identity {
				test.want.Issuer, test.want.Repository = attest.GitHubIssuer, repository
				return test.want
			}
			by, err := builder(v, sigstore().Bundle(test.attestation))
			if (err == nil) != test.ok || !test.ok && !errors.Is(err, attest.ErrIdentity) {
				t.Errorf("Builder for %+v: %+v, %v, want accepted: %v", test.want, by, err, test.ok)
			}
		})
	}
	ev := verify.Evidence{Attestations: []string{sigstore().Bundle(good())}}
	if by, err := verifier().Provenance(demo).Builder(t.Context(), ev, archive); !errors.Is(err, attest.ErrIdentity) {
		t.Errorf("Builder without Evidence.Requested: %+v, %v, want %v, because the version is unknown", by, err, attest.ErrIdentity)
	}
}

// TestSeveral: of several bundles, one that counts suffices.
func TestSeveral(t *testing.T) {
	t.Parallel()
	s := sigstore()
	bad := s.Bundle(with(func(a *attestation) { a.Repository += "-evil" }))
	release := s.Bundle(with(func(a *attestation) { a.Predicate = "https://in-toto.io/attestation/release/v0.1" }))
	if _, err := builder(verifier(), bad, release, "damaged", s.Bundle(good())); err != nil {
		t.Errorf("Builder with a good bundle after others: %v", err)
	}
	_, err := builder(verifier(), bad, release)
	if err == nil || !strings.Contains(err.Error(), "attestation 1: ") || !strings.Contains(err.Error(), "attestation 2: ") {
		t.Errorf("Builder without a good bundle: %v, want what is wrong with each", err)
	}
	if by, err := builder(verifier()); err == nil || !strings.Contains(err.Error(), "Verifier.Source") {
		t.Errorf("Builder without bundles: %+v, %v, want an error with the remedy", by, err)
	}
}

// TestDamaged: bundles that are changed or not JSON are refused.
func TestDamaged(t *testing.T) {
	t.Parallel()
	s := sigstore()
	proto := func(change func(b *protobundle.Bundle)) string {
		b := s.Proto(good())
		change(b)
		return string(attesttest.Need(protojson.Marshal(b)))
	}
	foreign := s.Proto(good())
	for name, text := range map[string]string{
		"empty":             "",
		"null":              "null",
		"object":            "{}",
		"cut":               s.Bundle(good())[:1000],
		"control character": "\x1b[31m",
		"payload": proto(func(b *protobundle.Bundle) {
			b.GetDsseEnvelope().Payload = []byte(strings.Replace(string(b.GetDsseEnvelope().Payload), "_type", "_tYpe", 1))
		}),
		"signature":    proto(func(b *protobundle.Bundle) { b.GetDsseEnvelope().Signatures[0].Sig[8]++ }),
		"no signature": proto(func(b *protobundle.Bundle) { b.GetDsseEnvelope().Signatures = nil }),
		"certificate of another bundle": proto(func(b *protobundle.Bundle) {
			b.VerificationMaterial.Content = foreign.VerificationMaterial.Content
		}),
		"log entry of another bundle": proto(func(b *protobundle.Bundle) {
			b.VerificationMaterial.TlogEntries = foreign.VerificationMaterial.TlogEntries
		}),
		"timestamp": proto(func(b *protobundle.Bundle) {
			b.VerificationMaterial.TlogEntries[0].InclusionPromise = nil
			b.VerificationMaterial.TimestampVerificationData = foreign.VerificationMaterial.TimestampVerificationData
		}),
		"public key": proto(func(b *protobundle.Bundle) {
			b.VerificationMaterial.Content = &protobundle.VerificationMaterial_PublicKey{PublicKey: &protocommon.PublicKeyIdentifier{Hint: "x"}}
		}),
		"no content":  proto(func(b *protobundle.Bundle) { b.Content = nil }),
		"no material": proto(func(b *protobundle.Bundle) { b.VerificationMaterial = nil }),
		"message signature": proto(func(b *protobundle.Bundle) {
			b.Content = &protobundle.Bundle_MessageSignature{MessageSignature: &protocommon.MessageSignature{
				MessageDigest: &protocommon.HashOutput{Algorithm: protocommon.HashAlgorithm_SHA2_256, Digest: attesttest.Need(hex.DecodeString(archive.Value()))},
				Signature:     b.GetDsseEnvelope().Signatures[0].Sig,
			}}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			by, err := builder(verifier(), text)
			if err == nil {
				t.Fatalf("Builder: %+v, want an error", by)
			}
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' && r != '\n' }) {
				t.Errorf("Builder: %q has a control character", err)
			}
		})
	}
}

// TestLimits: bundles may have so much, and not more.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := sigstore()
	text := s.Bundle(good())
	padded := func(size int) string { return text + strings.Repeat(" ", size-len(text)) }
	statement := func(predicate string) string {
		return s.Bundle(with(func(a *attestation) {
			a.Payload = `{"_type": "https://in-toto.io/Statement/v1", "subject": [{"digest": {"sha256": "` + archive.Value() +
				`"}}], "predicateType": "https://slsa.dev/provenance/v1", "predicate": ` + predicate + `}`
		}))
	}
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	many := func(n int) string { return "[0" + strings.Repeat(",0", n) + "]" }
	parts := func(change func(m *protobundle.VerificationMaterial)) string {
		b := s.Proto(good())
		change(b.VerificationMaterial)
		return string(attesttest.Need(protojson.Marshal(b)))
	}
	timestamps := func(n, size int) string {
		return parts(func(m *protobundle.VerificationMaterial) {
			for range n {
				m.TimestampVerificationData.Rfc3161Timestamps = append(m.TimestampVerificationData.Rfc3161Timestamps,
					&protocommon.RFC3161SignedTimestamp{SignedTimestamp: make([]byte, size)})
			}
		})
	}
	repeat := func(n int) []string {
		list := []string{text}
		for len(list) < n {
			list = append([]string{"{}"}, list...)
		}
		return list
	}
	for name, test := range map[string]struct {
		within, beyond []string
	}{
		"bytes":       {[]string{padded(attest.MaxBundle)}, []string{padded(attest.MaxBundle + 1)}},
		"bundles":     {repeat(attest.MaxBundles), repeat(attest.MaxBundles + 1)},
		"levels":      {[]string{statement(deep(49))}, []string{statement(deep(50))}},
		"members":     {[]string{statement(many(20_000 - 3))}, []string{statement(many(20_000 - 2))}},
		"parts":       {[]string{timestamps(7, 1)}, []string{timestamps(8, 1)}},
		"part":        {[]string{timestamps(1, 16<<10)}, []string{timestamps(1, 16<<10+1)}},
		"of a bundle": {[]string{text}, []string{`{"mediaType": ` + deep(100_000) + `}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := builder(verifier(), test.within...); err != nil {
				t.Errorf("Builder within the limit: %v", err)
			}
			if by, err := builder(verifier(), test.beyond...); err == nil || name != "bundles" && !errors.Is(err, failure.ErrTooLarge) {
				t.Errorf("Builder beyond the limit: %+v, %v, want %v", by, err, failure.ErrTooLarge)
			}
		})
	}
	for name, change := range map[string]func(m *protobundle.VerificationMaterial){
		"a certificate": func(m *protobundle.VerificationMaterial) { m.GetCertificate().RawBytes = make([]byte, 16<<10+1) },
		"a chain": func(m *protobundle.VerificationMaterial) {
			m.Content = &protobundle.VerificationMaterial_X509CertificateChain{X509CertificateChain: &protocommon.X509CertificateChain{
				Certificates: []*protocommon.X509Certificate{{RawBytes: make([]byte, 16<<10+1)}},
			}}
		},
		"a log entry":      func(m *protobundle.VerificationMaterial) { m.TlogEntries[0].CanonicalizedBody = make([]byte, 16<<10+1) },
		"a deep log entry": func(m *protobundle.VerificationMaterial) { m.TlogEntries[0].CanonicalizedBody = []byte(deep(51)) },
	} {
		if by, err := builder(verifier(), parts(change)); !errors.Is(err, failure.ErrTooLarge) {
			t.Errorf("%s: Builder: %+v, %v, want %v", name, by, err, failure.ErrTooLarge)
		}
	}
	for _, n := range []int{2, 3} { // the library refuses two equal ones
		text := parts(func(m *protobundle.VerificationMaterial) { m.TlogEntries = slices.Repeat(m.TlogEntries, n) })
		if _, err := builder(verifier(), text); errors.Is(err, failure.ErrTooLarge) != (n > 2) {
			t.Errorf("Builder with %d log entries: %v, want ErrTooLarge beyond 2", n, err)
		}
	}
}

// TestSums: SHA256SUMS may be the subject, if the caller permits it and the document lists the archive.
func TestSums(t *testing.T) {
	t.Parallel()
	const name = "terraform-provider-demo_1.2.0_linux_amd64.zip"
	sums := []byte(archive.Value() + "  " + name + "\n")
	subject := checksum.ZHSum(sumOf(sums))
	text := sigstore().Bundle(with(func(a *attestation) { a.Subjects = []checksum.Hash{subject} }))
	ev := verify.Evidence{Filename: name, Requested: requested, Sums: sums, Attestations: []string{text}}
	permissive := verifier()
	permissive.AllowSums = true
	ask := func(v *attest.Verifier, ev verify.Evidence, zh checksum.Hash) error {
		_, err := v.Provenance(demo).Builder(t.Context(), ev, zh)
		return err
	}
	if err := ask(permissive, ev, archive); err != nil {
		t.Errorf("Builder with AllowSums: %v", err)
	}
	if err := ask(verifier(), ev, archive); err == nil {
		t.Error("Builder without AllowSums: no error")
	}
	if err := ask(permissive, ev, other); err == nil {
		t.Error("Builder of an archive that is not listed: no error")
	}
	renamed := ev
	renamed.Filename = "terraform-provider-demo_1.2.0_darwin_arm64.zip"
	if err := ask(permissive, renamed, archive); err == nil {
		t.Error("Builder of an archive that is listed under another name: no error")
	}
	changed := ev
	changed.Sums = append(sums[:len(sums):len(sums)], sums...)
	if err := ask(permissive, changed, archive); err == nil {
		t.Error("Builder with a changed document: no error")
	}
	unknown := ev
	unknown.Sums = nil
	if err := ask(permissive, unknown, archive); !errors.Is(err, verify.ErrNotStated) {
		t.Errorf("Builder before the document is known: %v, want %v", err, verify.ErrNotStated)
	}
	if err := ask(verifier(), unknown, archive); errors.Is(err, verify.ErrNotStated) {
		t.Errorf("Builder without AllowSums: %v, want no %v", err, verify.ErrNotStated)
	}
}

// TestNoLog: an instance without logs needs its own root, the option, and a signed timestamp.
func TestNoLog(t *testing.T) {
	t.Parallel()
	v := verifier()
	v.NoLog = true
	private := with(func(a *attestation) { a.NoLog, a.NoSCT = true, true })
	if _, err := builder(v, sigstore().Bundle(private)); err != nil {
		t.Errorf("Builder with NoLog: %v", err)
	}
	private.NoTimestamp = true
	if by, err := builder(v, sigstore().Bundle(private)); err == nil {
		t.Errorf("Builder with NoLog, of a bundle without a timestamp: %+v, want an error", by)
	}
}

// TestUnusableVerifier: without a root or a rule, each archive is refused, and nothing is requested.
func TestUnusableVerifier(t *testing.T) {
	t.Parallel()
	text := sigstore().Bundle(good())
	for name, v := range map[string]*attest.Verifier{
		"zero":         {},
		"no root":      {Rule: attest.OnGitHub},
		"invalid root": {Rule: attest.OnGitHub, Root: []byte("{}")},
		"no rule":      {Root: sigstore().JSON},
		"no identity":  {Root: sigstore().JSON, Rule: func(addrs.Provider) attest.Identity { return attest.Identity{} }},
		"no issuer":    {Root: sigstore().JSON, Rule: func(addrs.Provider) attest.Identity { return attest.Identity{Repository: repository} }},
		"no repository": {Root: sigstore().JSON, Rule: func(addrs.Provider) attest.Identity {
			return attest.Identity{Issuer: attest.GitHubIssuer}
		}},
	} {
		for _, bundles := range [][]string{nil, {text}} {
			if by, err := builder(v, bundles...); !errors.Is(err, verify.ErrPolicy) {
				t.Errorf("%s: Builder of %d bundles: %+v, %v, want %v", name, len(bundles), by, err, verify.ErrPolicy)
			}
		}
		ev := verify.Evidence{Requested: requested, Hashes: []checksum.Hash{archive}, Attestations: []string{text}}
		policy := verify.Policy{Provenance: v.Provenance(demo), AllowUnsigned: true}
		if _, err := policy.Judge(t.Context(), ev, checksum.Digests{Size: 1, Hashes: []checksum.Hash{archive}}); !errors.Is(err, verify.ErrPolicy) || errors.Is(err, verify.ErrProvenance) {
			t.Errorf("%s: Judge: %v, want %v and not %v", name, err, verify.ErrPolicy, verify.ErrProvenance)
		}
	}
}

// TestOnGitHub: the rule names the repository of the namespace, but OpenTofu builds what it calls hashicorp.
func TestOnGitHub(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string]string{
		"acme/demo":                                 "https://github.com/acme/terraform-provider-demo",
		"hashicorp/aws":                             "https://github.com/opentofu/terraform-provider-aws",
		"registry.terraform.io/hashicorp/aws":       "https://github.com/hashicorp/terraform-provider-aws",
		"registry.opentofu.org/opentofu/aws":        "https://github.com/opentofu/terraform-provider-aws",
		"registry.example.com/hashicorp/kubernetes": "https://github.com/hashicorp/terraform-provider-kubernetes",
	} {
		got := attest.OnGitHub(addrs.MustParseProvider(provider))
		if got.Repository != want || got.Issuer != attest.GitHubIssuer || got.Ref != "refs/tags/v{version}" || got.Workflow != "" {
			t.Errorf("OnGitHub(%s) = %+v, want the repository %s", provider, got, want)
		}
	}
}

// TestPublicInstance: a bundle of the public instance in the test data of sigstore-go is verified with the public root there.
func TestPublicInstance(t *testing.T) {
	t.Parallel()
	dir := testData(t)
	text := string(must.Get(os.ReadFile(filepath.Join(dir, "pkg/testing/data/bundles/sigstore.js@2.0.0-provenance.sigstore.json")))(t))
	v := &attest.Verifier{Root: must.Get(os.ReadFile(filepath.Join(dir, "pkg/testing/data/trusted-roots/public-good.json")))(t)}
	want := attest.Identity{
		Issuer: attest.GitHubIssuer, Repository: "https://github.com/sigstore/sigstore-js", Workflow: ".github/workflows/release.yml", Ref: "refs/heads/main",
	}
	v.Rule = func(addrs.Provider) attest.Identity { return want }
	var statement struct {
		Subject []struct{ Digest map[string]string }
	}
	var bundle struct{ DSSEEnvelope struct{ Payload []byte } }
	must.Do(t, json.Unmarshal([]byte(text), &bundle))
	must.Do(t, json.Unmarshal(bundle.DSSEEnvelope.Payload, &statement))
	digest := statement.Subject[0].Digest["sha512"]

	by, err := v.VerifyDigest(demo, text, "sha512", digest, "")
	if err != nil || by.Repository != want.Repository || by.Commit != "f0b49a04e5a62250e0f60fb128004a73110fe311" ||
		by.Workflow != want.Repository+"/"+want.Workflow+"@refs/heads/main" || by.Time.Format(time.DateOnly) != "2023-08-18" {
		t.Errorf("verification of the public bundle: %+v, %v", by, err)
	}
	if by, err := builder(v, text); err == nil {
		t.Errorf("Builder of an archive: %+v, want an error, because the bundle has no SHA-256", by)
	}
	if by, err := (&attest.Verifier{Root: sigstore().JSON, Rule: v.Rule}).VerifyDigest(demo, text, "sha512", digest, ""); err == nil {
		t.Errorf("verification of the public bundle with another root: %+v, want an error", by)
	}
	want.Repository += "-evil"
	if _, err := v.VerifyDigest(demo, text, "sha512", digest, ""); !errors.Is(err, attest.ErrIdentity) {
		t.Errorf("verification of the public bundle for another repository: %v, want %v", err, attest.ErrIdentity)
	}
}

// testData returns the directory of sigstore-go in the module cache.
func testData(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/sigstore/sigstore-go").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return strings.TrimSpace(string(out))
}

func FuzzBuilder(f *testing.F) {
	s := sigstore()
	v := verifier()
	for _, a := range []*attestation{good(), with(func(a *attestation) { a.NoSCT, a.NoLog = true, true })} {
		f.Add(s.Bundle(a))
	}
	f.Add(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{"tlogEntries":[{"canonicalizedBody":"e30="}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		by, err := builder(v, text)
		if err == nil && by.Repository != repository {
			t.Errorf("Builder(%q) = %+v", text, by)
		}
	})
}

// BenchmarkBuilder verifies one archive without requests.
func BenchmarkBuilder(b *testing.B) {
	v, text := verifier(), sigstore().Bundle(good())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := builder(v, text); err != nil {
			b.Fatal(err)
		}
	}
}

// TestMemory: the limits bound the memory for hostile bundles. It runs alone.
func TestMemory(t *testing.T) {
	s := sigstore()
	fill := func(text string) string { return text + strings.Repeat(" ", attest.MaxBundle-len(text)) }
	entry := s.Proto(good())
	entry.VerificationMaterial.TlogEntries = slices.Repeat(entry.VerificationMaterial.TlogEntries, 2)
	for name, text := range map[string]string{
		"large":     fill(s.Bundle(good())),
		"members":   `{"mediaType": [` + strings.Repeat("{},", 19_999) + `{}]}`,
		"levels":    `{"x": ` + strings.Repeat("[", 1<<19) + strings.Repeat("]", 1<<19-10) + `}`,
		"string":    `{"mediaType": "` + strings.Repeat(`\u0041`, 170_000) + `"}`,
		"entries":   string(attesttest.Need(protojson.Marshal(entry))),
		"statement": s.Bundle(with(func(a *attestation) { a.Payload = `{"subject": [` + strings.Repeat(`{},`, 9_999) + `{}]}` })),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := builder(verifier(), text)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
			t.Errorf("%s: Builder of %d bytes allocates %d bytes (%v), want at most 8 MiB", name, len(text), used, err)
		} else {
			t.Logf("%s: %d bytes allocated for %d", name, used, len(text))
		}
	}
}

// TestProposed: a log entry with what only clients propose is refused before the library verifies each signature in it
// with each key.
func TestProposed(t *testing.T) {
	t.Parallel()
	entry := func(kind, version, spec string) string {
		return `{"apiVersion": "` + version + `", "kind": "` + kind + `", "spec": ` + spec + `}`
	}
	for name, body := range map[string]string{
		"dsse":                  entry("dsse", "0.0.1", `{"proposedContent": {"envelope": "{}", "verifiers": ["AAAA"]}}`),
		"dsse, escaped":         entry("dsse", "0.0.1", `{"propos\u0065dContent": {"envelope": "{}", "verifiers": ["AAAA"]}}`),
		"dsse, in capitals":     entry("dsse", "0.0.1", `{"PROPOSEDCONTENT": {"envelope": "{}", "verifiers": ["AAAA"]}}`),
		"dsse, of two specs":    strings.Replace(entry("dsse", "0.0.1", `{"proposedContent": {"envelope": "{}", "verifiers": ["AAAA"]}}`), `"spec"`, `"spec": {}, "spec"`, 1),
		"intoto with a payload": entry("intoto", "0.0.2", `{"content": {"envelope": {"payload": "AAAA", "payloadType": "x", "signatures": [{"sig": "AAAA", "publicKey": "AAAA"}]}}}`),
		"behind the entry":      entry("dsse", "0.0.1", `{}`) + `{"proposedContent": 1}`,
	} {
		b := sigstore().Proto(good())
		b.VerificationMaterial.TlogEntries[0].CanonicalizedBody = []byte(body)
		_, err := builder(verifier(), string(attesttest.Need(protojson.Marshal(b))))
		if err == nil || !strings.Contains(err.Error(), "log entry") {
			t.Errorf("%s: Builder: %v, want an error about the log entry", name, err)
		}
	}
}

// TestBuilderEnds: Builder looks at no further bundle after its context.
func TestBuilderEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ev := verify.Evidence{Requested: requested, Attestations: []string{sigstore().Bundle(good())}}
	if by, err := verifier().Provenance(demo).Builder(ctx, ev, archive); !errors.Is(err, context.Canceled) {
		t.Errorf("Builder after its context: %v, %v, want %v", by, err, context.Canceled)
	}
}

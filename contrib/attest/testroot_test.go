package attest_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"math/big"
	"net/url"
	"time"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protodsse "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	"github.com/sigstore/sigstore/pkg/signature"
	sigdsse "github.com/sigstore/sigstore/pkg/signature/dsse"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/contrib/attest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Test a rule of one's own: with a Sigstore instance in memory, whose only service is an authority for timestamps, and
// which attests any build.
func Example_testRoot() {
	instance, err := newTestRoot()
	if err != nil {
		log.Fatal(err)
	}
	rule := func(addrs.Provider) attest.Identity { // which is to be tested
		return attest.Identity{Issuer: "https://gitlab.example.com", Repository: "https://gitlab.example.com/acme/demo", Ref: "refs/tags/v{version}"}
	}
	v := &attest.Verifier{Root: instance.JSON, Rule: rule, NoLog: true}
	zh := checksum.ZHSum(sha256.Sum256([]byte("the archive")))
	for _, ref := range []string{"refs/tags/v1.2.0", "refs/heads/main"} {
		bundle, err := instance.attest("https://gitlab.example.com", "https://gitlab.example.com/acme/demo", ref, zh)
		if err != nil {
			log.Fatal(err)
		}
		// Requested has the name of an archive without its type and ".zip".
		evidence := verify.Evidence{Requested: "demo_1.2.0_linux_amd64", Attestations: []string{bundle}}
		build, err := v.Provenance(addrs.MustParseProvider("acme/demo")).Builder(context.Background(), evidence, zh)
		fmt.Println(build.Repository, build.Ref, err != nil)
	}
	// Output:
	// https://gitlab.example.com/acme/demo refs/tags/v1.2.0 false
	//   true
}

// A testRoot is a certificate authority and the authority for timestamps of sigstore-go.
type testRoot struct {
	JSON       []byte // [attest.Verifier.Root]
	timestamps *ca.VirtualSigstore
	issuer     *x509.Certificate
	key        *ecdsa.PrivateKey
}

func newTestRoot() (*testRoot, error) {
	virtual, err := ca.NewVirtualSigstore()
	if err != nil {
		return nil, err
	}
	top, topKey, err := ca.GenerateRootCa()
	if err != nil {
		return nil, err
	}
	issuer, key, err := ca.GenerateFulcioIntermediate(top, topKey)
	if err != nil {
		return nil, err
	}
	authority := &root.FulcioCertificateAuthority{
		URI: "https://fulcio.example.com", Root: top, Intermediates: []*x509.Certificate{issuer},
		ValidityPeriodStart: time.Now().Add(-time.Hour), ValidityPeriodEnd: time.Now().Add(time.Hour),
	}
	trusted, err := root.NewTrustedRoot(root.TrustedRootMediaType01, []root.CertificateAuthority{authority}, nil, virtual.TimestampingAuthorities(), nil)
	if err != nil {
		return nil, err
	}
	data, err := trusted.MarshalJSON()
	return &testRoot{data, virtual, issuer, key}, err
}

// attest returns a bundle that says that a workflow of a repository built the archive with this zh.
func (r *testRoot) attest(service, repository, ref string, zh checksum.Hash) (string, error) {
	// The certificate names the builder.
	workflow := repository + "/build.yml@" + ref
	uri, err := url.Parse(workflow)
	if err != nil {
		return "", err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(9 * time.Minute),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}, URIs: []*url.URL{uri},
	}
	for _, e := range []struct {
		id   asn1.ObjectIdentifier
		text string
	}{
		{certificate.OIDIssuerV2, service}, {certificate.OIDBuildSignerURI, workflow}, {certificate.OIDSourceRepositoryURI, repository},
		{certificate.OIDSourceRepositoryRef, ref}, {certificate.OIDSourceRepositoryDigest, "0123456789abcdef0123456789abcdef01234567"},
	} {
		value, err := asn1.MarshalWithParams(e.text, "utf8")
		if err != nil {
			return "", err
		}
		template.ExtraExtensions = append(template.ExtraExtensions, pkix.Extension{Id: e.id, Value: value})
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, r.issuer, key.Public(), r.key)
	if err != nil {
		return "", err
	}

	// The statement names the archive. Its key signs it, and the authority says when.
	statement, err := json.Marshal(map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "predicateType": "https://slsa.dev/provenance/v1", "predicate": map[string]any{},
		"subject": []any{map[string]any{"name": "demo_1.2.0_linux_amd64.zip", "digest": map[string]string{"sha256": zh.Value()}}},
	})
	if err != nil {
		return "", err
	}
	signer, err := signature.LoadECDSASignerVerifier(key, crypto.SHA256)
	if err != nil {
		return "", err
	}
	envelopes, err := dsse.NewEnvelopeSigner(&sigdsse.SignerAdapter{SignatureSigner: signer, Pub: key.Public()})
	if err != nil {
		return "", err
	}
	envelope, err := envelopes.SignPayload(context.Background(), "application/vnd.in-toto+json", statement)
	if err != nil {
		return "", err
	}
	sig, err := base64.StdEncoding.DecodeString(envelope.Signatures[0].Sig)
	if err != nil {
		return "", err
	}
	stamp, err := r.timestamps.TimestampResponse(sig)
	if err != nil {
		return "", err
	}
	data, err := protojson.Marshal(&protobundle.Bundle{
		MediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
		VerificationMaterial: &protobundle.VerificationMaterial{
			Content:                   &protobundle.VerificationMaterial_Certificate{Certificate: &protocommon.X509Certificate{RawBytes: cert}},
			TimestampVerificationData: &protobundle.TimestampVerificationData{Rfc3161Timestamps: []*protocommon.RFC3161SignedTimestamp{{SignedTimestamp: stamp}}},
		},
		Content: &protobundle.Bundle_DsseEnvelope{DsseEnvelope: &protodsse.Envelope{
			Payload: statement, PayloadType: envelope.PayloadType, Signatures: []*protodsse.Signature{{Sig: sig}},
		}},
	})
	return string(data), err
}

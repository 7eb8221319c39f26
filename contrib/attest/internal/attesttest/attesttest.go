// Package attesttest makes attestations for tests.
package attesttest

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
	"encoding/hex"
	"encoding/json"
	"math/big"
	"net/url"
	"sync"
	"time"

	ct "github.com/google/certificate-transparency-go"
	cttls "github.com/google/certificate-transparency-go/tls"
	ctx509 "github.com/google/certificate-transparency-go/x509"
	ctutil "github.com/google/certificate-transparency-go/x509util"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protodsse "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	"github.com/sigstore/sigstore-go/pkg/tlog"
	"github.com/sigstore/sigstore/pkg/signature"
	sigdsse "github.com/sigstore/sigstore/pkg/signature/dsse"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/tofureg/tofureg/verify/checksum"
)

// Archive is the hash of the archive that [Good] is about, and Repository who built it.
var (
	Archive    = checksum.ZHSum(sha256.Sum256([]byte("archive")))
	Repository = "https://github.com/acme/terraform-provider-demo"
)

// An Instance is a Sigstore instance: the virtual one of sigstore-go has a log and an authority for timestamps, and this has
// another certificate authority, because the certificates of the virtual one have neither extensions nor an SCT.
type Instance struct {
	*ca.VirtualSigstore
	rootCert, issuer *x509.Certificate
	issuerKey, ctKey *ecdsa.PrivateKey
	JSON             []byte // trusted root
}

// Shared returns the instance that the tests of a package share.
var Shared = sync.OnceValue(New)

// New returns an instance.
func New() *Instance {
	i := &Instance{VirtualSigstore: Need(ca.NewVirtualSigstore())}
	var rootKey *ecdsa.PrivateKey
	i.rootCert, rootKey = need2(ca.GenerateRootCa())
	i.issuer, i.issuerKey = need2(ca.GenerateFulcioIntermediate(i.rootCert, rootKey))
	i.ctKey = Need(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	fulcio := &root.FulcioCertificateAuthority{
		URI: "https://fulcio.example.com", Root: i.rootCert, Intermediates: []*x509.Certificate{i.issuer},
		ValidityPeriodStart: time.Now().Add(-time.Hour), ValidityPeriodEnd: time.Now().Add(time.Hour),
	}
	logs := map[string]*root.TransparencyLog{}
	for id, log := range i.RekorLogs() {
		one := *log
		one.ID = Need(hex.DecodeString(id))
		logs[id] = &one
	}
	id := logID(i.ctKey)
	ctLogs := map[string]*root.TransparencyLog{hex.EncodeToString(id[:]): {
		BaseURL: "https://ct.example.com", ID: id[:], HashFunc: crypto.SHA256, SignatureHashFunc: crypto.SHA256,
		PublicKey: i.ctKey.Public(), ValidityPeriodStart: time.Now().Add(-time.Hour), ValidityPeriodEnd: time.Now().Add(time.Hour),
	}}
	trusted := Need(root.NewTrustedRoot(root.TrustedRootMediaType01, []root.CertificateAuthority{fulcio}, ctLogs, i.TimestampingAuthorities(), logs))
	i.JSON = Need(trusted.MarshalJSON())
	return i
}

func logID(key *ecdsa.PrivateKey) [32]byte {
	return sha256.Sum256(Need(x509.MarshalPKIXPublicKey(key.Public())))
}

// Need returns v, or panics.
func Need[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func need2[T, U any](v T, u U, err error) (T, U) {
	if err != nil {
		panic(err)
	}
	return v, u
}

// An Attestation is what a bundle is made of.
type Attestation struct {
	Issuer, Repository, Workflow, Ref string
	Predicate                         string // type
	Subjects                          []checksum.Hash
	Payload                           string // replaces the statement

	NoSCT, NoLog, NoTimestamp, NoPromise bool
	Late                                 bool // signed and logged after the certificate has expired
}

// Good returns an attestation of [Archive] that the usual rule accepts, of version 1.2.0.
func Good() *Attestation {
	return &Attestation{
		Issuer: "https://token.actions.githubusercontent.com", Repository: Repository, Workflow: ".github/workflows/release.yml",
		Ref: "refs/tags/v1.2.0", Predicate: "https://slsa.dev/provenance/v1", Subjects: []checksum.Hash{Archive},
	}
}

// With returns a changed [Good].
func With(change func(*Attestation)) *Attestation {
	a := Good()
	change(a)
	return a
}

// WorkflowURL returns the URL of the workflow with the ref.
func (a *Attestation) WorkflowURL() string { return a.Repository + "/" + a.Workflow + "@" + a.Ref }

// extensions are the extensions of a certificate for a workflow.
func (a *Attestation) extensions() (list []pkix.Extension) {
	for _, e := range []struct {
		id    asn1.ObjectIdentifier
		value string
	}{
		{certificate.OIDIssuerV2, a.Issuer}, {certificate.OIDBuildSignerURI, a.WorkflowURL()},
		{certificate.OIDSourceRepositoryURI, a.Repository}, {certificate.OIDSourceRepositoryRef, a.Ref},
		{certificate.OIDSourceRepositoryDigest, "0123456789abcdef0123456789abcdef01234567"},
	} {
		list = append(list, pkix.Extension{Id: e.id, Value: Need(asn1.MarshalWithParams(e.value, "utf8"))})
	}
	return list
}

// certify returns a certificate for a workflow, with an SCT unless the attestation has none.
func (i *Instance) certify(a *Attestation, key *ecdsa.PrivateKey) *x509.Certificate {
	began := time.Now().Add(-time.Minute)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: began, NotAfter: began.Add(10 * time.Minute),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
		URIs: []*url.URL{Need(url.Parse(a.WorkflowURL()))}, ExtraExtensions: a.extensions(),
	}
	if a.Late {
		template.NotAfter = began.Add(time.Second)
	}
	sign := func() []byte {
		return Need(x509.CreateCertificate(rand.Reader, template, i.issuer, key.Public(), i.issuerKey))
	}
	if !a.NoSCT {
		// The SCT covers the certificate without the SCT, so the same template gives the same bytes to be signed.
		precert := Need(ctx509.ParseCertificate(sign()))
		leaf := ct.MerkleTreeLeaf{Version: ct.V1, LeafType: ct.TimestampedEntryLeafType, TimestampedEntry: &ct.TimestampedEntry{
			Timestamp: uint64(time.Now().UnixMilli()), EntryType: ct.PrecertLogEntryType,
			PrecertEntry: &ct.PreCert{IssuerKeyHash: sha256.Sum256(i.issuer.RawSubjectPublicKeyInfo), TBSCertificate: precert.RawTBSCertificate},
		}}
		sct := ct.SignedCertificateTimestamp{SCTVersion: ct.V1, LogID: ct.LogID{KeyID: logID(i.ctKey)}, Timestamp: leaf.TimestampedEntry.Timestamp}
		input := Need(ct.SerializeSCTSignatureInput(sct, ct.LogEntry{Leaf: leaf}))
		digest := sha256.Sum256(input)
		sct.Signature = ct.DigitallySigned{
			Algorithm: cttls.SignatureAndHashAlgorithm{Hash: cttls.SHA256, Signature: cttls.ECDSA},
			Signature: Need(ecdsa.SignASN1(rand.Reader, i.ctKey, digest[:])),
		}
		list := Need(ctutil.MarshalSCTsIntoSCTList([]*ct.SignedCertificateTimestamp{&sct}))
		value := Need(asn1.Marshal(Need(cttls.Marshal(*list))))
		template.ExtraExtensions = append(template.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier(ctx509.OIDExtensionCTSCT), Value: value})
	}
	return Need(x509.ParseCertificate(sign()))
}

// Bundle returns the bundle of an attestation in JSON.
func (i *Instance) Bundle(a *Attestation) string {
	return string(Need(protojson.Marshal(i.Proto(a))))
}

// Proto returns the bundle of an attestation.
func (i *Instance) Proto(a *Attestation) *protobundle.Bundle {
	payload := []byte(a.Payload)
	if a.Payload == "" {
		var subjects []map[string]any
		for _, zh := range a.Subjects {
			subjects = append(subjects, map[string]any{"name": "file", "digest": map[string]string{"sha256": zh.Value()}})
		}
		payload = Need(json.Marshal(map[string]any{
			"_type": "https://in-toto.io/Statement/v1", "subject": subjects, "predicateType": a.Predicate,
			"predicate": map[string]any{"buildDefinition": map[string]any{"buildType": "https://example.com/build"}},
		}))
	}
	key := Need(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	cert := i.certify(a, key)
	signer := Need(signature.LoadECDSASignerVerifier(key, crypto.SHA256))
	envelope := Need(Need(dsse.NewEnvelopeSigner(&sigdsse.SignerAdapter{SignatureSigner: signer, Pub: cert.PublicKey})).
		SignPayload(context.Background(), "application/vnd.in-toto+json", payload))
	sig := Need(base64.StdEncoding.DecodeString(envelope.Signatures[0].Sig))
	material := &protobundle.VerificationMaterial{Content: &protobundle.VerificationMaterial_Certificate{Certificate: &protocommon.X509Certificate{RawBytes: cert.Raw}}}
	if !a.NoTimestamp {
		material.TimestampVerificationData = &protobundle.TimestampVerificationData{
			Rfc3161Timestamps: []*protocommon.RFC3161SignedTimestamp{{SignedTimestamp: Need(i.TimestampResponse(sig))}},
		}
	}
	if !a.NoLog {
		entry := Need(i.GenerateTlogEntry(cert, envelope, sig, time.Now().Unix(), true))
		logged := entry.TransparencyLogEntry()
		if a.NoPromise {
			logged.InclusionPromise = nil
		} else {
			logged.InclusionPromise = &protorekor.InclusionPromise{SignedEntryTimestamp: Need(i.RekorSignPayload(tlog.RekorPayload{
				Body: base64.StdEncoding.EncodeToString(logged.CanonicalizedBody), IntegratedTime: logged.IntegratedTime,
				LogIndex: logged.LogIndex, LogID: hex.EncodeToString(logged.LogId.KeyId),
			}))}
		}
		logged.KindVersion = &protorekor.KindVersion{Kind: "dsse", Version: "0.0.1"}
		material.TlogEntries = []*protorekor.TransparencyLogEntry{logged}
	}
	return &protobundle.Bundle{
		MediaType: "application/vnd.dev.sigstore.bundle.v0.3+json", VerificationMaterial: material,
		Content: &protobundle.Bundle_DsseEnvelope{DsseEnvelope: &protodsse.Envelope{
			Payload: payload, PayloadType: envelope.PayloadType, Signatures: []*protodsse.Signature{{Sig: sig}},
		}},
	}
}

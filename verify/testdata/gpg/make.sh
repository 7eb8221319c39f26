#!/usr/bin/env bash
# Makes the keys and signatures in this directory with the gpg program (2.2 or newer) in a throw-away
# home. All private keys are lost at the end, which is the point. Dates are faked, so that expiry can
# be tested: keys are from 2020 unless a name says otherwise.
set -euo pipefail
cd "$(dirname "$0")"
export GNUPGHOME
GNUPGHOME=$(mktemp -d)
trap 'gpgconf --kill gpg-agent; rm -rf "$GNUPGHOME"' EXIT
chmod 700 "$GNUPGHOME"

g() { gpg --batch --quiet --yes --no-tty --pinentry-mode loopback --passphrase '' --allow-weak-key-signatures "$@"; }
at() { local when=$1; shift; g --faked-system-time "$when!" "$@"; }
key() { # key NAME ALGO USAGE EXPIRE
	at 20200101T000000 --quick-generate-key "$1 <$1@example.com>" "$2" "$3" "$4"
}
export_key() { g --armor --no-emit-version --export "<$1@example.com>" >"$1.asc"; }
sign() { # sign NAME FILE WHEN OPTIONS
	local name=$1 out=$2 when=$3
	shift 3
	at "$when" --local-user "<$name@example.com>" "$@" --output "$out" --detach-sign SHA256SUMS
}
fpr() { g --with-colons --list-keys "<$1@example.com>" | awk -F: '/^fpr/ {print $10; exit}'; }

for i in 1 2 3 4 5 6 7 8 9 a; do
	printf '%064x  terraform-provider-test_1.2.%s_linux_amd64.zip\n' "0x$i" "$i"
done >SHA256SUMS
printf '%s  terraform-provider-test_1.2.3_linux_s390x.zip\n' "$(sha256sum <package.zip | cut -d' ' -f1)" >>SHA256SUMS
# The package of the benchmarks: 20,000,000 bytes of ChaCha8 with a seed of zeros.
printf '%s  terraform-provider-test_1.2.3_linux_arm64.zip\n' 2957cc3531db6e6098b67e760403d8c9d1dbe3389a3d8ac5d67c42f019fefb26 >>SHA256SUMS

for spec in rsa4096:rsa4096 rsa2048:rsa2048 rsa1024:rsa1024 ed25519:ed25519 ecdsa:nistp256 dsa:dsa2048; do
	name=${spec%:*}
	key "$name" "${spec#*:}" sign never
	export_key "$name"
	sign "$name" "$name.sig" 20200601T000000 --digest-algo SHA256
done
g --verify ed25519.sig SHA256SUMS

# Other forms of a signature.
sign ed25519 armored.sig 20200601T000000 --armor --digest-algo SHA512
sign rsa2048 text.sig 20200601T000000 --textmode --digest-algo SHA256
sign rsa2048 sha1.sig 20200601T000000 --digest-algo SHA1
sign rsa2048 md5.sig 20200601T000000 --digest-algo MD5 || true
sign ed25519 limited.sig 20200601T000000 --default-sig-expire 1w
sign ed25519 notation.sig 20200601T000000 --sig-notation '!critical@example.com=yes'
cat rsa4096.sig ed25519.sig >several.sig
at 20200601T000000 --local-user "<ed25519@example.com>" --output inline.sig --sign SHA256SUMS
at 20200601T000000 --local-user "<ed25519@example.com>" --output clear.sig --clear-sign SHA256SUMS

# A signing subkey; the primary key only certifies.
key subkey ed25519 cert never
at 20200101T000000 --quick-add-key "$(fpr subkey)" rsa2048 sign never
at 20200101T000000 --quick-add-key "$(fpr subkey)" cv25519 encr never
export_key subkey
sign subkey subkey.sig 20200601T000000 --digest-algo SHA256

# Valid for a year; signed within it. The copy has been prolonged since.
key expiring ed25519 sign 1y
export_key expiring
sign expiring expiring.sig 20200601T000000
at 20201201T000000 --quick-set-expire "$(fpr expiring)" 10y
g --armor --export-options export-minimal --export "<expiring@example.com>" >prolonged.asc
sign expiring prolonged.sig 20220601T000000

# A subkey that expires before its primary key does.
key subexpiring ed25519 cert never
at 20200101T000000 --quick-add-key "$(fpr subexpiring)" ed25519 sign 1y
export_key subexpiring
sign subexpiring subexpiring.sig 20200601T000000

# Revoked: for no stated reason, as compromised, as superseded, as retired.
revoke() { # revoke NAME REASON
	printf 'y\n%s\n\ny\n' "$2" |
		gpg --no-tty --quiet --faked-system-time '20210101T000000!' --pinentry-mode loopback --passphrase '' \
			--command-fd 0 --status-fd 2 --output "$GNUPGHOME/$1.rev" --gen-revoke "<$1@example.com>" 2>/dev/null
	cp "$1.asc" "$1-before.asc"
	g --import "$GNUPGHOME/$1.rev"
	export_key "$1"
}
for spec in revoked:0 compromised:1 superseded:2 retired:3; do
	name=${spec%:*}
	key "$name" ed25519 sign never
	export_key "$name"
	sign "$name" "$name.sig" 20200601T000000
	sign "$name" "$name-late.sig" 20210601T000000
	revoke "$name" "${spec#*:}"
done
rm -f compromised-before.asc superseded-before.asc retired-before.asc

# A revoked subkey under a good primary key.
key subrevoked ed25519 cert never
at 20200101T000000 --quick-add-key "$(fpr subrevoked)" ed25519 sign never
sign subrevoked subrevoked.sig 20200601T000000
printf 'key 1\nrevkey\ny\n0\n\ny\nsave\n' |
	gpg --no-tty --quiet --faked-system-time '20210101T000000!' --pinentry-mode loopback --passphrase '' \
		--command-fd 0 --status-fd 2 --edit-key "<subrevoked@example.com>" 2>/dev/null
export_key subrevoked

# Several keys in one block, a key with old self-signatures.
g --armor --export "<rsa2048@example.com>" "<ed25519@example.com>" >two.asc
key oldself rsa2048 sign never
at 20200102T000000 --cert-digest-algo SHA1 --quick-set-expire "$(fpr oldself)" never
export_key oldself
sign oldself oldself.sig 20200601T000000 --digest-algo SHA256
ls

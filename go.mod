module github.com/tofureg/tofureg

go 1.26.0

// Each requirement names the oldest version that works and has no known vulnerability. A scheduled workflow
// tests the latest versions.
require (
	github.com/ProtonMail/go-crypto v1.5.1
	github.com/apparentlymart/go-versions v1.0.2
	github.com/google/go-cmp v0.6.0
	github.com/hashicorp/go-retryablehttp v0.7.7
	github.com/hashicorp/go-version v1.4.0
	github.com/hashicorp/hcl v1.0.0
	github.com/hashicorp/hcl/v2 v2.20.1
	github.com/therootcompany/xz v1.0.1
	github.com/ulikunitz/xz v0.5.15
	golang.org/x/crypto v0.55.0
	golang.org/x/mod v0.40.0
	golang.org/x/net v0.58.0
	golang.org/x/oauth2 v0.27.0
	golang.org/x/sync v0.22.0
	golang.org/x/sys v0.47.0
	golang.org/x/text v0.41.0
	golang.org/x/time v0.1.0
)

require (
	github.com/agext/levenshtein v1.2.1 // indirect
	github.com/apparentlymart/go-textseg/v13 v13.0.0 // indirect
	github.com/apparentlymart/go-textseg/v15 v15.0.0 // indirect
	github.com/cloudflare/circl v1.6.3 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	github.com/mitchellh/go-wordwrap v0.0.0-20150314170334-ad45545899c7 // indirect
	github.com/zclconf/go-cty v1.13.0 // indirect
	golang.org/x/tools v0.49.0 // indirect
)

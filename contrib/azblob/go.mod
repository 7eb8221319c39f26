module github.com/tofureg/tofureg/contrib/azblob

go 1.26.0

replace github.com/tofureg/tofureg => ../..

require (
	github.com/Azure/azure-sdk-for-go/sdk/azcore v1.23.3
	github.com/Azure/azure-sdk-for-go/sdk/storage/azblob v1.7.0
	github.com/tofureg/tofureg v0.0.0
)

require (
	github.com/Azure/azure-sdk-for-go/sdk/internal v1.13.0 // indirect
	github.com/ProtonMail/go-crypto v1.5.1 // indirect
	github.com/apparentlymart/go-versions v1.0.2 // indirect
	github.com/cloudflare/circl v1.6.3 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	github.com/hashicorp/go-retryablehttp v0.7.7 // indirect
	github.com/hashicorp/go-version v1.4.0 // indirect
	github.com/therootcompany/xz v1.0.1 // indirect
	golang.org/x/crypto v0.55.0 // indirect
	golang.org/x/net v0.58.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

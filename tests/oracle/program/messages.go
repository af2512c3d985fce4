package main

import (
	"encoding/json"
	"fmt"
	"math/rand"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/cosi-project/runtime/api/v1alpha1"

	_ "github.com/siderolabs/talos/pkg/machinery/api/cluster"
	_ "github.com/siderolabs/talos/pkg/machinery/api/common"
	_ "github.com/siderolabs/talos/pkg/machinery/api/inspect"
	_ "github.com/siderolabs/talos/pkg/machinery/api/machine"
	_ "github.com/siderolabs/talos/pkg/machinery/api/resource/config"
	_ "github.com/siderolabs/talos/pkg/machinery/api/resource/definitions/block"
	_ "github.com/siderolabs/talos/pkg/machinery/api/resource/definitions/cluster"
	_ "github.com/siderolabs/talos/pkg/machinery/api/resource/definitions/cri"
	_ "github.com/siderolabs/talos/pkg/machinery/api/resource/definitions/enums"
	_ "github.com/siderolabs/talos/pkg/machinery/api/resource/definitions/etcd"
	_ "github.com/siderolabs/talos/pkg/machinery/api/resource/definitions/extensions"
	_ "github.com/siderolabs/talos/pkg/machinery/api/resource/definitions/hardware"
	_ "github.com/siderolabs/talos/pkg/machinery/api/resource/definitions/k8s"
	_ "github.com/siderolabs/talos/pkg/machinery/api/resource/definitions/network"
	_ "github.com/siderolabs/talos/pkg/machinery/api/resource/definitions/runtime"
	_ "github.com/siderolabs/talos/pkg/machinery/api/resource/definitions/siderolink"
	_ "github.com/siderolabs/talos/pkg/machinery/api/resource/definitions/time"
	_ "github.com/siderolabs/talos/pkg/machinery/api/resource/definitions/v1alpha1"
	_ "github.com/siderolabs/talos/pkg/machinery/api/storage"
	_ "github.com/siderolabs/talos/pkg/machinery/api/time"
)

type messageRequest struct {
	Name string `json:"name"`
	Seed int64  `json:"seed"`
}

type message struct {
	Wire   []byte          `json:"wire"`
	Fields json.RawMessage `json:"fields"`
}

// randomMessage is one message of the API with every field set, in bytes and by field name.
func randomMessage(request messageRequest) (any, error) {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(request.Name))
	if err != nil {
		return nil, err
	}

	made := kind.New()
	random := rand.New(rand.NewSource(request.Seed))
	fillMessage(made, random, 0)

	wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(made.Interface())
	if err != nil {
		return nil, err
	}

	options := protojson.MarshalOptions{UseProtoNames: true, UseEnumNumbers: true}

	fields, err := options.Marshal(made.Interface())
	if err != nil {
		return nil, err
	}

	return message{wire, fields}, nil
}

type definitionsRequest struct{}

// messageDefinitions are the fields of every message: name → field → number.
func messageDefinitions(definitionsRequest) (any, error) {
	found := map[string]map[string]int{}

	protoregistry.GlobalTypes.RangeMessages(func(kind protoreflect.MessageType) bool {
		descriptor := kind.Descriptor()
		fields := map[string]int{}
		for i := range descriptor.Fields().Len() {
			field := descriptor.Fields().Get(i)
			fields[string(field.Name())] = int(field.Number())
		}

		found[string(descriptor.FullName())] = fields

		return true
	})

	return found, nil
}

func fillMessage(made protoreflect.Message, random *rand.Rand, depth int) {
	fields := made.Descriptor().Fields()

	for i := range fields.Len() {
		field := fields.Get(i)
		if field.Kind() == protoreflect.MessageKind && (depth > deepest || field.Message().FullName() == "google.protobuf.Any") {
			continue
		}

		// Of a oneof only one can be set.
		if one := field.ContainingOneof(); one != nil && made.WhichOneof(one) != nil {
			continue
		}

		switch {
		case field.IsMap():
			entries := made.Mutable(field).Map()
			key := single(field.MapKey(), random).MapKey()
			entries.Set(key, valueOf(field.MapValue(), entries.NewValue, random, depth))
		case field.IsList():
			list := made.Mutable(field).List()
			for range 1 + random.Intn(3) {
				list.Append(valueOf(field, list.NewElement, random, depth))
			}
		default:
			made.Set(field, valueOf(field, func() protoreflect.Value { return made.NewField(field) }, random, depth))
		}
	}
}

func valueOf(
	field protoreflect.FieldDescriptor, empty func() protoreflect.Value, random *rand.Rand, depth int,
) protoreflect.Value {
	if field.Kind() != protoreflect.MessageKind {
		return single(field, random)
	}

	value := empty()

	switch field.Message().FullName() {
	case "google.protobuf.Timestamp", "google.protobuf.Duration":
		seconds := field.Message().Fields().ByName("seconds")
		value.Message().Set(seconds, protoreflect.ValueOfInt64(1+random.Int63n(1<<31)))
	default:
		fillMessage(value.Message(), random, depth+1)
	}

	return value
}

func single(field protoreflect.FieldDescriptor, random *rand.Rand) protoreflect.Value {
	number := 1 + random.Int63n(1<<20)

	switch field.Kind() { //nolint:exhaustive
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.EnumKind:
		values := field.Enum().Values()

		return protoreflect.ValueOfEnum(values.Get(values.Len() - 1 - random.Intn((values.Len()+1)/2)).Number())
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(fmt.Sprintf("text-%x é", number))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(fmt.Append(nil, number, "\xff\x00"))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(number) / 4)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(number) / 4)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(number))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(uint64(number) << 32)
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(-number))
	default:
		return protoreflect.ValueOfInt64(-number << 32)
	}
}

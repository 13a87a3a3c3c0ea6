// How a slice is drawn: HU through a window, over a slab where asked, and masks over it.
//
// NiiVue draws the plane and hands `texPos`, the share of the volume's extent at each pixel. HU come
// from a texture of our own, whole numbers, so that the window is a matter of two uniforms and the
// maximum over a slab is one of true values. Colours alone do not tell the classes of masks apart:
// hits are solid, misses and false alarms are hatched each their own way.
export const HU_UNIT = 14;
export const LABEL_UNIT = 15;
export const CLASSES = 8;

export const SLICE_SHADER = `#version 300 es
precision highp float;
precision highp int;
uniform highp isampler3D hu;
uniform highp usampler3D labels;
uniform int axCorSag;
uniform vec3 wholeSize;
uniform float huStep;
uniform ivec3 labelFirst;
uniform ivec3 labelSize;
uniform float windowLow;
uniform float windowWidth;
uniform ivec3 reaches;
uniform bool darkest;
uniform float fill;
uniform float rim;
uniform float rimPixels;
uniform vec3 classColour[${CLASSES}];
in vec3 texPos;
out vec4 color;

// HU in one slice of the texture, smooth across it.
float huIn(vec3 c, ivec3 slice, ivec3 across, ivec3 down) {
	ivec3 last = textureSize(hu, 0) - 1;
	ivec3 plane = across + down;
	vec3 low = floor(c);
	vec3 part = (c - low) * vec3(plane);
	ivec3 a = ivec3(low) * plane + slice;
	ivec3 b = a + across;
	ivec3 d = a + down;
	ivec3 e = a + plane;
	float u = dot(part, vec3(across));
	float v = dot(part, vec3(down));
	float one = float(texelFetch(hu, clamp(a, ivec3(0), last), 0).r);
	float two = float(texelFetch(hu, clamp(b, ivec3(0), last), 0).r);
	float three = float(texelFetch(hu, clamp(d, ivec3(0), last), 0).r);
	float four = float(texelFetch(hu, clamp(e, ivec3(0), last), 0).r);
	return mix(mix(one, two, u), mix(three, four, u), v);
}

uint labelAt(ivec3 voxel) {
	ivec3 own = voxel - labelFirst;
	if (any(lessThan(own, ivec3(0))) || any(greaterThanEqual(own, labelSize))) return 0u;
	return texelFetch(labels, own, 0).r;
}

// The class at a voxel, or the nearest one in the slab.
uint classAt(vec3 index, ivec3 through, int reach) {
	ivec3 voxel = ivec3(floor(index + 0.5));
	uint found = labelAt(voxel);
	for (int n = 1; n <= reach && found == 0u; n++) {
		found = labelAt(voxel + n * through);
		if (found == 0u) found = labelAt(voxel - n * through);
	}
	return found;
}

bool inPattern(uint own) {
	if (own == 2u) return mod(gl_FragCoord.x + gl_FragCoord.y, 7.0) < 3.0;
	if (own == 3u) return mod(gl_FragCoord.x - gl_FragCoord.y, 7.0) < 3.0;
	return true;
}

void main() {
	ivec3 through = axCorSag == 0 ? ivec3(0, 0, 1) : axCorSag == 1 ? ivec3(0, 1, 0) : ivec3(1, 0, 0);
	ivec3 across = axCorSag == 2 ? ivec3(0, 1, 0) : ivec3(1, 0, 0);
	ivec3 down = axCorSag == 0 ? ivec3(0, 1, 0) : ivec3(0, 0, 1);
	vec3 index = texPos * wholeSize - 0.5;
	// The slice itself is a whole one: the nearest to the plane.
	vec3 flatIndex = mix(index, clamp(floor(index + 0.5), vec3(0.0), wholeSize - 1.0), vec3(through));
	vec3 c = flatIndex / huStep;
	ivec3 middle = ivec3(floor(c + 0.5)) * through;
	ivec3 some = reaches * through;
	int reach = some.x + some.y + some.z;
	int wide = int(float(reach) / huStep);
	int end = int(dot(vec3(textureSize(hu, 0)), vec3(through))) - 1;
	int at = int(dot(vec3(middle), vec3(1.0)));
	float value = huIn(c, middle, across, down);
	for (int n = -wide; n <= wide; n++) {
		if (n == 0 || at + n < 0 || at + n > end) continue;
		float other = huIn(c, middle + n * through, across, down);
		value = darkest ? min(value, other) : max(value, other);
	}
	vec3 grey = vec3(clamp((value - windowLow) / windowWidth, 0.0, 1.0));
	color = vec4(grey, 1.0);
	uint own = classAt(flatIndex, through, reach);
	vec3 dx = dFdx(index) * rimPixels;
	vec3 dy = dFdy(index) * rimPixels;
	if (own == 0u || own >= ${CLASSES}u) return;
	bool edge = false;
	for (int n = 0; n < 4; n++) {
		vec3 way = n == 0 ? dx : n == 1 ? -dx : n == 2 ? dy : -dy;
		edge = edge || classAt(flatIndex + way, through, reach) != own;
	}
	float alpha = inPattern(own) ? fill : fill * 0.3;
	if (edge && rim > 0.0) alpha = rim;
	color.rgb = mix(grey, classColour[own], alpha);
}`;
